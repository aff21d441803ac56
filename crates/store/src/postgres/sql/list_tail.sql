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
