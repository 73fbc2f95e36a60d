-- The scopes: a row for each tenant (user and session empty), each user (session empty) and each session.
-- tenant_id and user_id are the rows of its tenant and its user; for a tenant both are its own row.
-- `changes`, on the rows of tenants and users, grows when their vectors are removed or replaced.
CREATE TABLE scope (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    tenant_id INTEGER NOT NULL DEFAULT 0,
    user_id INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX scope_name ON scope (tenant, user, session);
CREATE INDEX scope_tenant ON scope (tenant_id);
CREATE INDEX scope_user ON scope (user_id);

-- `position` is the last one that was used; `epoch` grows when rows of scope are removed; `words` is the
-- version of the word rules that the keyword index was made with.
CREATE TABLE counter (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT;
INSERT INTO counter VALUES (1, 0, 0, 0);

-- The end of each session's hash chain, and its totals; times are microseconds since 1970 in UTC.
CREATE TABLE session (
    scope INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    position INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    first INTEGER,
    last INTEGER
) STRICT;

-- The log.
CREATE TABLE message (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    at INTEGER NOT NULL,
    role TEXT NOT NULL,
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    salt BLOB NOT NULL,
    tags BLOB,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX message_seq ON message (session, seq);
CREATE UNIQUE INDEX message_id ON message (id, session);

-- What stays of an erased message: its link in the hash chain.
CREATE TABLE erased (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE record (
    position INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    check_sum INTEGER NOT NULL,
    ended INTEGER,
    superseded_at TEXT,
    superseded_by TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX record_id ON record (scope, id);
CREATE INDEX record_key ON record (scope, kind, key);

-- What a search can find besides messages.
CREATE TABLE item (
    position INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER,
    role TEXT,
    check_sum INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX item_id ON item (scope, kind, id);

-- Which messages a record or item (by its position) came from.
CREATE TABLE source (
    message TEXT NOT NULL,
    scope INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (message, scope, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_position ON source (position);

-- The keyword index of messages and items, by position. recollect.store.words makes the words; `scope` has the
-- tokens t<tenant> u<user> x<scope> k<kind>.
CREATE VIRTUAL TABLE words USING fts5 (scope, text, content = '', tokenize = 'ascii');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(0.0, 1.0)');

CREATE TABLE model (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX model_name ON model (tenant, name);

-- Vectors of messages and items. `owner` is the row of the user, or of the tenant if they belong to no user.
CREATE TABLE vector (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    model INTEGER NOT NULL,
    position INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER,
    role TEXT,
    check_sum INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vector_position ON vector (position, model);
CREATE INDEX vector_owner ON vector (model, owner);

CREATE TABLE job (
    position INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    worker TEXT,
    since INTEGER NOT NULL,
    due INTEGER NOT NULL,
    error TEXT,
    payload BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX job_key ON job (scope, kind, key) WHERE key IS NOT NULL AND state = 'waiting';
CREATE INDEX job_due ON job (due) WHERE state <> 'dead';
CREATE INDEX job_scope ON job (scope);
