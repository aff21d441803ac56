-- Sums up the rows of the totals, where there are many.
WITH gone AS (
    DELETE FROM totals WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM totals LIMIT 10000 FOR UPDATE SKIP LOCKED
    ))
    RETURNING tenant, caller, state, tasks
)
INSERT INTO totals (tenant, caller, state, tasks)
SELECT tenant, caller, state, sum(tasks) FROM gone GROUP BY tenant, caller, state HAVING sum(tasks) <> 0
