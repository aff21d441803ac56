        ORDER BY tenant, caller LIMIT 1
    ) AS next
    WHERE scope.number < $3::int4
)
SELECT scope.tenant, scope.caller, found.state, found.id
FROM scope LEFT JOIN LATERAL (
    SELECT wanted.state, task.id FROM unnest($4::int2[]) AS wanted (state) CROSS JOIN LATERAL (
        SELECT id FROM tasks AS t
        WHERE tenant = scope.tenant AND caller = scope.caller AND state = wanted.state
            AND (updated, updated_rest) < ($5::int8, $6::int4) AND owner IS NULL
            AND NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND pending > delivered))
        ORDER BY updated, updated_rest, id LIMIT $7::int8
    ) AS task
    WHERE scope.tenant <> ALL ($8::text[])
) AS found ON true
LIMIT $9::int8
