-- Drops the logs of tasks that nobody has written to for a time, up to their snapshots. What is owed is looked at again.
WITH rested AS MATERIALIZED (
    SELECT id FROM tasks WHERE released IS NOT NULL AND released <= $1::int8
    ORDER BY released LIMIT $3::int8 FOR UPDATE SKIP LOCKED
),
owed AS MATERIALIZED (
    SELECT DISTINCT task FROM push_configs WHERE task IN (SELECT id FROM rested) AND owed > delivered
),
dropped AS (
    DELETE FROM events AS e USING rested, bodies AS b
    WHERE e.task = rested.id AND b.task = rested.id AND e.last <= b.folded
        AND NOT EXISTS (SELECT 1 FROM owed WHERE owed.task = rested.id)
)
UPDATE tasks AS t SET
    released = CASE WHEN EXISTS (SELECT 1 FROM owed WHERE owed.task = t.id) THEN $2::int8 END
FROM rested WHERE t.id = rested.id
RETURNING t.released IS NULL
