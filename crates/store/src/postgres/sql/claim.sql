-- Claims a task for a node. The row is locked first, so of several nodes one is the first and the others see it. A lease
-- that looks over is looked at again as it is then, under a lock that a renewal waits for; one that does not is not locked,
-- as a renewal might wait for ever for many that share it.
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
