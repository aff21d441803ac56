-- Tasks that were deleted and whose records are still to go: a log can be longer than a statement may take. Until then
-- no task of the id is created.
CREATE TABLE deleted (
    task text COLLATE "C" PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

-- Since when a task waits for its client: those that wait for too long are ended.
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, id)
    WHERE owner IS NULL AND state NOT IN (3, 4, 5, 7);

-- Tasks that nobody is at work on though they are neither parked nor ended. There are none, unless something went wrong.
CREATE INDEX tasks_unowned ON tasks (created, id) WHERE owner IS NULL AND state IN (1, 2);
