-- How many times the database was opened. This number is the epoch of the tasks that the process owns.
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    openings INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES (1, 0);

-- The owners of tasks. Values of `caller`: '' for the caller of an agent without authentication, '?' for a caller
-- without credentials, '=name' for a caller with this name.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    UNIQUE (tenant, caller)
) STRICT;

-- The heads of the tasks. Times are milliseconds since 1970; updated_rest contains the remaining nanoseconds. The task
-- after the record `folded` is in `body` (JSON: status, history, metadata) and `artifacts` (JSON: a list), or in
-- `bodies` if the task is large.
CREATE TABLE tasks (
    task INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    context TEXT NOT NULL,
    state INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    updated_rest INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    running INTEGER NOT NULL,
    pushed INTEGER NOT NULL,
    released INTEGER,
    folded INTEGER NOT NULL,
    body TEXT,
    artifacts TEXT
) STRICT;
CREATE INDEX tasks_by_state ON tasks (scope, state, updated, updated_rest, id);
CREATE INDEX tasks_by_context ON tasks (scope, context, state, updated, updated_rest, id);
CREATE INDEX tasks_running ON tasks (epoch, task) WHERE running;
-- `released` is the time since when the log of a task is no longer needed: the task does not run and has no pending
-- deliveries.
CREATE INDEX tasks_released ON tasks (released) WHERE released IS NOT NULL;

CREATE TABLE bodies (
    task INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    artifacts TEXT
) STRICT;

-- The logs: one row per commit. The key is task * 2^32 + the sequence number of the last record. The body is a JSON
-- list.
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- The number of tasks per scope and state.
CREATE TABLE totals (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE push_configs (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    config TEXT NOT NULL,
    delivered INTEGER NOT NULL,
    owed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_configs_due ON push_configs (next_attempt, task, id) WHERE owed > delivered;
