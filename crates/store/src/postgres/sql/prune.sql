-- Deletes records of tasks that were released before a time, up to their snapshots: about $4 rows, of at most $3 tasks.
-- Logs with pending deliveries stay. If $2 is a time, these tasks are checked again after this time.
WITH rested AS MATERIALIZED (
    SELECT id, pushed AND EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND pending > delivered) AS has_pending
    FROM tasks AS t
    WHERE released IS NOT NULL AND released < $1::int8 AND (
        $2::int8 IS NOT NULL
        OR NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND pending > delivered))
    )
    ORDER BY released LIMIT $3::int8 FOR UPDATE OF t SKIP LOCKED
),
cut AS MATERIALIZED (
    SELECT task, max(last) AS last FROM (
        SELECT e.task, e.last FROM rested JOIN bodies AS b ON b.task = rested.id CROSS JOIN LATERAL (
            SELECT task, last FROM events WHERE task = rested.id AND last <= b.folded ORDER BY last LIMIT $4::int8
        ) AS e
        WHERE NOT rested.has_pending LIMIT $4
    ) AS doomed GROUP BY task
),
dropped AS (
    DELETE FROM events AS e USING cut WHERE e.task = cut.task AND e.last <= cut.last RETURNING 1
),
done AS (
    UPDATE tasks AS t SET released = CASE WHEN rested.has_pending THEN $2 END
    FROM rested WHERE t.id = rested.id AND (
        rested.has_pending
        OR NOT EXISTS (
            SELECT 1 FROM bodies AS b JOIN events AS e ON e.task = b.task AND e.last <= b.folded
            WHERE b.task = t.id AND e.last > coalesce((SELECT cut.last FROM cut WHERE cut.task = t.id), 0)
        )
    )
    RETURNING t.released IS NULL AS is_whole
)
SELECT (SELECT count(*) FROM dropped), (SELECT count(*) FROM done WHERE is_whole)
