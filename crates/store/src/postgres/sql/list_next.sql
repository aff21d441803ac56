AND state = wanted.state
            AND (updated, updated_rest, id) < ($4::int8, $5::int4, $6::text)
            AND (updated, updated_rest) >= ($7::int8, $8::int4)
        ORDER BY updated DESC, updated_rest DESC, id DESC LIMIT $9::int8
    ) AS found
    ORDER BY updated DESC, updated_rest DESC, id DESC LIMIT $9
),
head AS MATERIALIZED (
    SELECT page.*, coalesce(b.folded, 0) AS folded, b.body, CASE WHEN $10::bool THEN b.artifacts END AS artifacts
    FROM page LEFT JOIN bodies AS b ON b.task = page.id
)
SELECT id, context, updated, updated_rest, sequence, folded, body, artifacts FROM head
UNION ALL
SELECT head.id, NULL, NULL, NULL, e.last, NULL, e.body, NULL
FROM head CROSS JOIN LATERAL (
    SELECT last, body FROM events
    WHERE task = head.id AND last > head.folded AND last <= head.sequence ORDER BY last
) AS e
UNION ALL
SELECT NULL, NULL, NULL, NULL, CASE
    -- The first page, and the only one.
    WHEN $11::bool AND (SELECT count(*) FROM page) < $9 THEN (SELECT count(*) FROM page)
    -- All of these states.
    WHEN $12::bool THEN (
        SELECT coalesce(sum(tasks), 0)::int8 FROM totals WHERE tenant = $1 AND caller = $2 AND state = ANY ($3)
    )
    ELSE (
        SELECT count(*) FROM tasks
        WHERE tenant = $1 AND caller = $2 AND state = ANY ($3) AND (updated, updated_rest) >= ($7, $8)
