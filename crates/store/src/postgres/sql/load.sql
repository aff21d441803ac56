-- A task: one row with the head and the snapshot, and one row per commit after the snapshot.
WITH head AS MATERIALIZED (
    SELECT t.id, t.context, t.sequence, t.epoch, coalesce(b.folded, 0) AS folded, b.body, b.artifacts
    FROM tasks AS t LEFT JOIN bodies AS b ON b.task = t.id
    WHERE t.id = $1 AND t.tenant = $2 AND t.caller = $3
)
SELECT context, sequence, epoch, folded, body, artifacts FROM head
UNION ALL
SELECT NULL, e.last, NULL, NULL, e.body, NULL
FROM head CROSS JOIN LATERAL (
    SELECT last, body FROM events
    WHERE task = head.id AND last > head.folded AND last <= head.sequence ORDER BY last
) AS e
