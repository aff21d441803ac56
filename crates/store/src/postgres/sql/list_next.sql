AND state = wanted.state
            AND (updated, updated_rest, id) < ($4::int8, $5::int4, $6::text)
            AND (updated, updated_rest) >= ($7::int8, $8::int4)
        ORDER BY updated DESC, updated_rest DESC, id DESC LIMIT $9::int8
    ) AS found
    ORDER BY updated DESC, updated_rest DESC, id DESC LIMIT $9
),
-- The size of each task plus the tasks before it. PostgreSQL knows the length of a long text without reading the text.
sized AS MATERIALIZED (
    SELECT page.*, coalesce(b.folded, 0) AS folded, row_number() OVER newest AS number, sum(
        coalesce(octet_length(b.body), 0) + CASE WHEN $10::bool THEN coalesce(octet_length(b.artifacts), 0) ELSE 0 END
            + coalesce(e.length, 0)
    ) OVER newest AS length
    FROM page LEFT JOIN bodies AS b ON b.task = page.id LEFT JOIN LATERAL (
        SELECT sum(octet_length(body)) AS length FROM events
        WHERE task = page.id AND last > coalesce(b.folded, 0) AND last <= page.sequence
    ) AS e ON page.sequence > coalesce(b.folded, 0)
    WINDOW newest AS (ORDER BY page.updated DESC, page.updated_rest DESC, page.id DESC)
),
-- The tasks that fit into the page, at least one. The last task of the page only shows that there are more tasks.
head AS MATERIALIZED (
    SELECT s.id, s.context, s.updated, s.updated_rest, s.sequence, s.folded, b.body,
        CASE WHEN $10 THEN b.artifacts END AS artifacts
    FROM sized AS s LEFT JOIN bodies AS b ON b.task = s.id
    WHERE s.number < $9 AND (s.number = 1 OR s.length <= $13::int8)
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
    -- The first page is also the last page.
    WHEN $11::bool AND (SELECT count(*) FROM page) < $9 THEN (SELECT count(*) FROM page)
    -- All tasks in these states.
    WHEN $12::bool THEN (
        SELECT coalesce(sum(tasks), 0)::int8 FROM totals WHERE tenant = $1 AND caller = $2 AND state = ANY ($3)
    )
    ELSE (
        SELECT count(*) FROM tasks
        WHERE tenant = $1 AND caller = $2 AND state = ANY ($3) AND (updated, updated_rest) >= ($7, $8)
