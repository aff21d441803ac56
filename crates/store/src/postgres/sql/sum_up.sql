-- Sums up the rows of totals that have many.
WITH crowded AS MATERIALIZED (
    SELECT tenant, caller, state FROM totals GROUP BY tenant, caller, state HAVING count(*) > 32 LIMIT 100
),
gone AS (
    DELETE FROM totals WHERE ctid = ANY (ARRAY(
        SELECT t.ctid FROM totals AS t JOIN crowded USING (tenant, caller, state)
        LIMIT 10000 FOR UPDATE OF t SKIP LOCKED
    ))
    RETURNING tenant, caller, state, tasks
)
INSERT INTO totals (tenant, caller, state, tasks)
SELECT tenant, caller, state, sum(tasks) FROM gone GROUP BY tenant, caller, state HAVING sum(tasks) <> 0
