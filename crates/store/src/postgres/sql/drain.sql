-- Deletes remaining records of deleted tasks, of the tasks in $1 or of any, about $2 rows. If a task with the same id
-- exists again, its records stay.
WITH task AS MATERIALIZED (
    SELECT task AS id FROM deleted WHERE $1::text[] IS NULL OR task = ANY ($1)
    ORDER BY task LIMIT 128 FOR UPDATE SKIP LOCKED
),
cut AS MATERIALIZED (
    SELECT task, max(last) AS last FROM (
        SELECT e.task, e.last FROM task CROSS JOIN LATERAL (
            SELECT task, last FROM events WHERE events.task = task.id ORDER BY last LIMIT $2::int8
        ) AS e
        WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task.id) LIMIT $2
    ) AS doomed GROUP BY task
),
dropped AS (
    DELETE FROM events AS e USING cut WHERE e.task = cut.task AND e.last <= cut.last RETURNING 1
),
done AS (
    DELETE FROM deleted AS d USING task WHERE d.task = task.id AND (
        EXISTS (SELECT 1 FROM tasks WHERE tasks.id = d.task)
        OR NOT EXISTS (
            SELECT 1 FROM events AS e
            WHERE e.task = d.task AND e.last > coalesce((SELECT cut.last FROM cut WHERE cut.task = d.task), 0)
        )
    )
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM dropped),
    (SELECT count(*) FROM done),
    (SELECT count(*) FROM deleted WHERE $1 IS NULL OR task = ANY ($1))
