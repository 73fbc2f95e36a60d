-- `indexed` is the position up to which the keyword index holds everything: it is brought up to date in batches.
ALTER TABLE counter ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
UPDATE counter SET indexed = position;
