-- Tasks that are parked for long, oldest first.
SELECT found.tenant, found.caller, found.id
FROM (SELECT DISTINCT tenant, caller FROM totals) AS scope
CROSS JOIN unnest($1::int2[]) AS wanted (state) CROSS JOIN LATERAL (
    SELECT tenant, caller, id, updated, updated_rest FROM tasks
    WHERE tenant = scope.tenant AND caller = scope.caller AND state = wanted.state
        AND (updated, updated_rest) < ($2::int8, $3::int4) AND owner IS NULL
    ORDER BY updated, updated_rest, id LIMIT $4::int8
) AS found
ORDER BY found.updated, found.updated_rest, found.id LIMIT $4
