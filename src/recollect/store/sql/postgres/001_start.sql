-- Every key starts with the tenant, so that each table can be partitioned or distributed by it. An owner or session
-- of '' means that the scope has none. Ids too long for a key are replaced by their hash; `names` then has all ids.

CREATE SEQUENCE recollect.positions AS bigint;

CREATE TABLE recollect.settings (
    name text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE recollect.sessions (
    tenant text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    position bigint NOT NULL,
    messages bigint NOT NULL,
    tokens bigint NOT NULL,
    first bigint,
    last bigint,
    names bytea,
    PRIMARY KEY (tenant, owner, session)
);
CREATE INDEX sessions_by_position ON recollect.sessions (tenant, position);
CREATE INDEX sessions_of_owner ON recollect.sessions (tenant, owner, position);

-- Of an erased message, only its number and its hash stay.
CREATE TABLE recollect.messages (
    tenant text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    id text COLLATE "C",
    position bigint NOT NULL,
    tokens bigint NOT NULL,
    salt bytea,
    hash bytea NOT NULL,
    body bytea,
    tags bytea,
    names bytea,
    PRIMARY KEY (tenant, owner, session, seq)
);
CREATE UNIQUE INDEX messages_by_id ON recollect.messages (tenant, owner, session, id);
CREATE INDEX messages_by_position ON recollect.messages (tenant, position);
CREATE INDEX messages_of_owner ON recollect.messages (tenant, owner, position);

CREATE TABLE recollect.records (
    tenant text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    ended bigint,
    superseded_at text,
    superseded_by text,
    valid_from bigint,
    valid_to bigint,
    sources text[] COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    names bytea,
    PRIMARY KEY (tenant, owner, session, id)
);
CREATE INDEX records_by_position ON recollect.records (tenant, position);
CREATE INDEX records_by_key ON recollect.records (tenant, owner, kind, key, position);

-- What can be found. A message's item has no body: its text is in the log.
CREATE TABLE recollect.items (
    tenant text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    at bigint,
    role text,
    tags bigint[] NOT NULL,
    sources text[] COLLATE "C" NOT NULL,
    length integer NOT NULL,
    wordless boolean NOT NULL,
    body bytea,
    names bytea,
    PRIMARY KEY (tenant, owner, session, kind, id),
    UNIQUE (tenant, position)
);
CREATE INDEX items_of_owner ON recollect.items (tenant, owner, session, position) INCLUDE (length);

-- The keyword index: a word is a hash of the tenant and the word; its position in the vector is how often it occurs.
CREATE TABLE recollect.words (
    tenant text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    piece integer NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (tenant, position, piece),
    FOREIGN KEY (tenant, position) REFERENCES recollect.items (tenant, position) ON DELETE CASCADE
);
CREATE INDEX words_in_text ON recollect.words USING gin (words) WITH (gin_pending_list_limit = 256);

-- Unit vectors, so that the inner product is the cosine; in pgvector's type if the server has it.
CREATE TABLE recollect.vectors (
    tenant text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (tenant, model, owner, session, position),
    FOREIGN KEY (tenant, position) REFERENCES recollect.items (tenant, position) ON DELETE CASCADE
);
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
        CREATE EXTENSION IF NOT EXISTS vector;
        ALTER TABLE recollect.vectors ADD COLUMN vector vector NOT NULL;
        ALTER TABLE recollect.vectors ALTER COLUMN vector SET STORAGE MAIN;
    ELSE
        ALTER TABLE recollect.vectors ADD COLUMN vector bytea NOT NULL;
    END IF;
END $$;
CREATE INDEX vectors_of_item ON recollect.vectors (tenant, position);

CREATE TABLE recollect.jobs (
    tenant text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    payload bytea NOT NULL,
    state text NOT NULL,
    attempts integer NOT NULL,
    worker text,
    due bigint NOT NULL,
    since bigint NOT NULL,
    error text,
    names bytea,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX jobs_waiting ON recollect.jobs (tenant, owner, session, kind, key) WHERE state = 'waiting';
CREATE INDEX jobs_due ON recollect.jobs (due, id) WHERE state <> 'dead';

-- A second wall besides the conditions in queries: a transaction sees only the tenant that it has set.
CREATE FUNCTION recollect.sees(tenant text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN tenant = current_setting('recollect.tenant', true) OR current_setting('recollect.every_tenant', true) = 'on';

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['sessions', 'messages', 'records', 'items', 'words', 'vectors', 'jobs'] LOOP
        EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY one_tenant ON recollect.%I USING (recollect.sees(tenant))', name);
    END LOOP;
END $$;

-- A text search can't use its index under a policy, so every tenant's words may be read. That reveals nothing: they are
-- hashed with their tenant, so they match no other tenant's words, and the items they lead to are behind the wall.
CREATE POLICY matching ON recollect.words FOR SELECT USING (true);
