-- Columns with COLLATE "C" are compared and sorted by their bytes. PostgreSQL's text cannot contain NUL, so NUL is
-- encoded as U+0001 and a digit. No row refers to another task, so that all tables can be partitioned by tenant or
-- task.

-- The nodes that have opened the store. A node is alive until `expires`, by the clock of this server.
CREATE SEQUENCE node_ids;
CREATE TABLE nodes (
    node bigint PRIMARY KEY DEFAULT nextval('node_ids'),
    expires timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The heads of the tasks. `tenant` and `caller` are the owner. Values of `caller`: '' for the caller of an agent
-- without authentication, '?' for a caller without credentials, '=name' for a caller with this name. Times are
-- milliseconds since 1970; updated_rest contains the remaining nanoseconds. `owner` is the node on which the task is
-- running. The column that most commits change (sequence) is in no index, so that a row is replaced within its page.
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
    -- The time since when the log is no longer written to; NULL if the log is in use or does not exist.
    released bigint,
    updated_rest integer NOT NULL,
    state smallint NOT NULL,
    -- The state before the last commit, for the RETURNING clause of this commit.
    state_before smallint NOT NULL,
    -- Whether the task has, or had, push configurations.
    pushed boolean NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX tasks_by_state ON tasks (tenant, caller, state, updated, updated_rest, id);
CREATE INDEX tasks_by_context ON tasks (tenant, caller, context, state, updated, updated_rest, id);
CREATE INDEX tasks_by_owner ON tasks (owner, created, id) WHERE owner IS NOT NULL;
CREATE INDEX tasks_released ON tasks (released) WHERE released IS NOT NULL;

-- The tasks after the record `folded`: `body` is JSON (status, history, metadata), `artifacts` is a JSON list.
CREATE TABLE bodies (
    task text COLLATE "C" PRIMARY KEY,
    folded bigint NOT NULL,
    body text NOT NULL,
    artifacts text
) WITH (fillfactor = 85);

-- The logs: one row per commit. `last` is the number of the last record, `body` is a JSON list of the records.
CREATE TABLE events (
    task text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (task, last)
);

-- The number of tasks per scope and state is the sum of the rows. Commits only add rows, so that no commit waits for
-- another commit. Housekeeping sums up the rows.
CREATE TABLE totals (
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    tasks bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX totals_by_scope ON totals (tenant, caller);

-- Push configurations, each with a cursor: the records after `delivered`, up to `owed`, are pending. A delivery is
-- reserved for the node `claimant` until `claimed_until`, or until the lease of this node ends.
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

-- Commands from one node to the task of another node.
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

-- The ids of received messages per scope, to recognize duplicates: the task that received the message, and the time in
-- milliseconds since 1970, by the clock of this server.
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
