-- `indexed` is the position up to which the keyword index has everything, because it is updated in batches.
ALTER TABLE counter ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
UPDATE counter SET indexed = position;
