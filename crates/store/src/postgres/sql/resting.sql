-- Tasks that were parked before a time, oldest first. The condition on ended states is redundant, but lets PostgreSQL
-- use the index.
SELECT found.tenant, found.caller, found.id
FROM unnest($1::int2[]) AS wanted (state) CROSS JOIN LATERAL (
    SELECT tenant, caller, id, updated, updated_rest FROM tasks
    WHERE state = wanted.state AND (updated, updated_rest) < ($2::int8, $3::int4)
        AND owner IS NULL AND state NOT IN (3, 4, 5, 7)
    ORDER BY updated, updated_rest, id LIMIT $4::int8
) AS found
ORDER BY found.updated, found.updated_rest, found.id LIMIT $4
