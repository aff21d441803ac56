-- The condition for parked tasks without a list: for a list, SQLite creates a temporary table for each row that it
-- inserts.
DROP INDEX tasks_parked;
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, task)
    WHERE NOT running AND state <> 3 AND state <> 4 AND state <> 5 AND state <> 7;

-- From this step on, the messages in a body may omit the ids of their task and context. Such a body contains `bare`.
