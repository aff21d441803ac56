-- Deleted tasks whose records still exist. The records are deleted in portions, because a log can be longer than one
-- statement may delete. Until then, no task with the same id can be created.
CREATE TABLE deleted (
    task text COLLATE "C" PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

-- For ending tasks that have waited too long for their client: the parked tasks by the time of their last update.
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, id)
    WHERE owner IS NULL AND state NOT IN (3, 4, 5, 7);

-- Tasks without an owner that are neither parked nor ended. Such tasks exist only after an error.
CREATE INDEX tasks_unowned ON tasks (created, id) WHERE owner IS NULL AND state IN (1, 2);
