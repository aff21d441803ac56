-- Which tasks are parked, told without a list: of one SQLite makes a table for each row that it inserts.
DROP INDEX tasks_parked;
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, task)
    WHERE NOT running AND state <> 3 AND state <> 4 AND state <> 5 AND state <> 7;

-- From here on the messages in a body may be without the ids of their task and context, and the body has `bare` then.
