-- Tasks that nobody is at work on though they are neither parked nor ended. There are none, unless something went wrong.
CREATE INDEX tasks_unowned ON tasks (created, id) WHERE owner IS NULL AND state IN (1, 2);
