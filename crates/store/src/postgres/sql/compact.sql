-- Drops the logs of tasks that nobody has written to since a time, up to their snapshots, where nothing is owed.
WITH rested AS MATERIALIZED (
    SELECT id FROM tasks AS t WHERE released IS NOT NULL AND released < $1::int8
        AND NOT EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND owed > delivered)
    ORDER BY released LIMIT $2::int8 FOR UPDATE
),
dropped AS (
    DELETE FROM events AS e USING rested, bodies AS b
    WHERE e.task = rested.id AND b.task = rested.id AND e.last <= b.folded
)
UPDATE tasks AS t SET released = NULL FROM rested WHERE t.id = rested.id RETURNING 1
