-- Text that is compared and sorted is so by its bytes. A NUL in it, which PostgreSQL's text cannot hold, stands as
-- U+0001 and a digit. Nothing here refers to another task, so that all of it can be partitioned by tenant or task.

-- The nodes that have the store open, or had: one lives until `expires`, by the clock of this server.
CREATE SEQUENCE node_ids;
CREATE TABLE nodes (
    node bigint PRIMARY KEY DEFAULT nextval('node_ids'),
    expires timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The heads. Who sees a task: `tenant`, and `caller`: '' is that of an open agent, '?' one without credentials, '=name'
-- one with that name. Times are milliseconds since 1970; updated_rest has the nanoseconds beyond. `owner` is the node
-- at work on it. What most commits change (sequence) is in no index, so that a row is replaced within its page.
CREATE TABLE tasks (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    owner bigint,
    updated bigint NOT NULL,
    -- Since when a log may go that nobody writes to; NULL where there is none.
    released bigint,
    updated_rest integer NOT NULL,
    state smallint NOT NULL,
    -- The state before the last commit, which what that commit returns is to know.
    state_before smallint NOT NULL,
    -- Whether it has, or had, push configurations.
    pushed boolean NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX tasks_by_state ON tasks (tenant, caller, state, updated, updated_rest, id);
CREATE INDEX tasks_by_context ON tasks (tenant, caller, context, state, updated, updated_rest, id);
CREATE INDEX tasks_by_owner ON tasks (owner, created, id) WHERE owner IS NOT NULL;
CREATE INDEX tasks_released ON tasks (released) WHERE released IS NOT NULL;

-- Tasks as of the record `folded`: `body` is JSON (status, history, metadata), `artifacts` a JSON list.
CREATE TABLE bodies (
    task text COLLATE "C" PRIMARY KEY,
    folded bigint NOT NULL,
    body text NOT NULL,
    artifacts text
) WITH (fillfactor = 85);

-- The logs: a row per commit, `last` the number of its last record, `body` a JSON list of the records.
CREATE TABLE events (
    task text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (task, last)
);

-- How many tasks a scope has in each state: the sum of its rows. Each commit adds rows and none waits for another's;
-- they are summed up now and then.
CREATE TABLE totals (
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    tasks bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX totals_by_scope ON totals (tenant, caller);

-- Push configurations, each with a cursor: it is owed the records after `delivered`, up to `owed`. A node that delivers
-- to one has it to itself until `claimed_until`, or until that node is gone.
CREATE TABLE push_configs (
    task text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    config text NOT NULL,
    format text,
    delivered bigint NOT NULL,
    owed bigint NOT NULL,
    attempts integer NOT NULL,
    next_attempt bigint NOT NULL,
    claimant bigint,
    claimed_until timestamptz,
    error text,
    PRIMARY KEY (task, id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX push_configs_due ON push_configs (next_attempt, task, id) WHERE owed > delivered;
CREATE INDEX push_configs_claimed ON push_configs (claimed_until) WHERE claimant IS NOT NULL;

-- Letters from one node to the task of another.
CREATE TABLE letters (
    id text COLLATE "C" PRIMARY KEY,
    number bigint GENERATED ALWAYS AS IDENTITY,
    task text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    left_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken bigint,
    begun bigint,
    rested bigint,
    refused bytea
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX letters_waiting ON letters (task, number) WHERE taken IS NULL AND refused IS NULL;
CREATE INDEX letters_by_age ON letters (left_at);

-- Messages that are to be known again, by who sent them: the task that took one, and when, in milliseconds since 1970 by
-- the clock of this server.
CREATE TABLE messages (
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    message text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, caller, message)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX messages_by_task ON messages (task);
CREATE INDEX messages_by_age ON messages (at);
