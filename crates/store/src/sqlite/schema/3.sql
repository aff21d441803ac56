-- Since when a task waits for its client: those that wait for too long are ended.
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, task)
    WHERE NOT running AND state NOT IN (3, 4, 5, 7);

-- Tasks that were deleted and whose records are still to go: a log can be longer than a write may take. Their keys are
-- not given to others.
CREATE TABLE deleted (
    task INTEGER PRIMARY KEY
) STRICT;

-- The agent that was served last: another one is told whose tasks it finds.
ALTER TABLE store ADD COLUMN agent TEXT;
