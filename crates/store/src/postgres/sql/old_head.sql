-- A stretch of scopes, and old tasks of theirs in some states, of each state the oldest from its index. A scope without
-- any is a row without a task. Nothing is locked: what is found is looked at again. It goes on in old_next.sql and
-- old_tail.sql, after what else is asked of a scope.
WITH RECURSIVE scope AS (
    (
        SELECT tenant, caller, 1 AS number FROM tasks
        WHERE (tenant, caller) >= ($1::text, $2::text)
