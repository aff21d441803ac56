-- Deletes old tasks of some states, of each scope and state the oldest from its index.
WITH scope AS MATERIALIZED (
    SELECT DISTINCT tenant, caller FROM totals
    WHERE ($1::text IS NULL OR tenant = $1) AND tenant <> ALL ($2::text[])
),
old AS MATERIALIZED (
    SELECT found.id FROM scope CROSS JOIN unnest($3::int2[]) AS wanted (state) CROSS JOIN LATERAL (
        SELECT id, updated, updated_rest FROM tasks AS t
        WHERE tenant = scope.tenant AND caller = scope.caller AND state = wanted.state
            AND (updated, updated_rest) < ($4::int8, $5::int4) AND owner IS NULL
            AND NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND owed > delivered))
        ORDER BY updated, updated_rest, id LIMIT $6::int8
    ) AS found
    ORDER BY found.updated, found.updated_rest, found.id LIMIT $6
),
head AS (
    DELETE FROM tasks AS t USING old
    WHERE t.id = old.id AND t.owner IS NULL AND (t.updated, t.updated_rest) < ($4, $5)
    RETURNING t.id, t.tenant, t.caller, t.state
),
