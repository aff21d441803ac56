-- A range of scopes and their old tasks in some states: the oldest tasks of each state from the index. A scope without
-- old tasks is a row without a task. No row is locked, because the deletion checks the tasks again. The statement
-- continues in old_next.sql and old_tail.sql. A further condition for the scope is inserted before each of them.
WITH RECURSIVE scope AS (
    (
        SELECT tenant, caller, 1 AS number FROM tasks
        WHERE (tenant, caller) >= ($1::text, $2::text)
