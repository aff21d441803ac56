-- Claims a task for a node. The row is locked first, so that one of several nodes gets the task and the others see the
-- result. A lease that seems expired is checked again under a lock for which a renewal waits. A valid lease is not
-- locked, because many concurrent locks could block its renewal forever.
WITH task AS MATERIALIZED (
    SELECT id, owner, epoch, state FROM tasks WHERE id = $1 AND tenant = $2 AND caller = $3 FOR UPDATE
),
living AS MATERIALIZED (
    SELECT node FROM nodes
    WHERE (node IN (SELECT owner FROM task) OR node = $4::int8) AND expires > clock_timestamp()
),
doubtful AS MATERIALIZED (
    SELECT node, expires FROM nodes
    WHERE (node IN (SELECT owner FROM task) OR node = $4) AND node NOT IN (SELECT node FROM living) FOR SHARE
),
holder AS (
    SELECT node FROM living UNION ALL SELECT node FROM doubtful WHERE expires > clock_timestamp()
),
judged AS MATERIALIZED (
    SELECT
        id, owner, epoch,
        state = ANY ($5::int2[]) AS ended,
        owner IS NOT DISTINCT FROM $4 AS own,
        EXISTS (SELECT 1 FROM holder WHERE node = owner) AS held,
        EXISTS (SELECT 1 FROM holder WHERE node = $4) AS lives
    FROM task
),
claimed AS (
    UPDATE tasks AS t SET epoch = t.epoch + 1, owner = $4, released = NULL
    FROM judged AS j WHERE t.id = j.id AND NOT j.ended AND NOT j.own AND NOT j.held AND j.lives
    RETURNING t.epoch
)
SELECT
    ended, own, held, lives, owner,
    (SELECT epoch FROM claimed) AS claimed,
    epoch
FROM judged
