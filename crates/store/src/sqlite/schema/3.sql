-- For ending tasks that have waited too long for their client: the parked tasks by the time of their last update.
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, task)
    WHERE NOT running AND state NOT IN (3, 4, 5, 7);

-- Deleted tasks whose records still exist. The records are deleted in portions, because a log can be longer than one
-- write may delete. The keys of these tasks are not used for other tasks.
CREATE TABLE deleted (
    task INTEGER PRIMARY KEY
) STRICT;

-- The agent that was served last. If another agent is served, the operator learns which agent owns the stored tasks.
ALTER TABLE store ADD COLUMN agent TEXT;
