-- Sums up the rows of totals of some scopes. A sum of zero is not stored.
WITH scope AS MATERIALIZED (
    SELECT DISTINCT tenant, caller FROM unnest($1::text[], $2::text[]) AS s (tenant, caller)
),
gone AS (
    DELETE FROM totals WHERE ctid = ANY (ARRAY(
        SELECT t.ctid FROM scope JOIN totals AS t ON t.tenant = scope.tenant AND t.caller = scope.caller
        LIMIT 10000 FOR UPDATE OF t SKIP LOCKED
    ))
    RETURNING tenant, caller, state, tasks
)
INSERT INTO totals (tenant, caller, state, tasks)
SELECT tenant, caller, state, sum(tasks) FROM gone GROUP BY tenant, caller, state HAVING sum(tasks) <> 0
