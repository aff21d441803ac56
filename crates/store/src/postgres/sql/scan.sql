-- A page of all tasks after an id, with their snapshots and one row per commit after the snapshot.
WITH head AS MATERIALIZED (
    SELECT t.id, t.tenant, t.caller, t.context, t.sequence, t.epoch, coalesce(b.folded, 0) AS folded, b.body, b.artifacts
    FROM tasks AS t LEFT JOIN bodies AS b ON b.task = t.id
    WHERE t.id > $1 ORDER BY t.id LIMIT $2::int8
)
SELECT id, context, tenant, caller, sequence, epoch, folded, body, artifacts, NULL::int8 AS delivered FROM head
UNION ALL
SELECT head.id, NULL, 'event', NULL, e.last, NULL, NULL, e.body, NULL, NULL
FROM head JOIN events AS e ON e.task = head.id AND e.last > head.folded AND e.last <= head.sequence
UNION ALL
SELECT head.id, NULL, 'config', p.id, NULL, NULL, NULL, p.config, p.format, p.delivered
FROM head JOIN push_configs AS p ON p.task = head.id
