-- Claims a task for a node. The row is locked first, so of several nodes one is the first and the others see it; and
-- the lease of its holder is looked at as it is then, under a lock that a renewal waits for.
WITH task AS MATERIALIZED (
    SELECT id, owner, epoch, state FROM tasks WHERE id = $1 AND tenant = $2 AND caller = $3 FOR UPDATE
),
holder AS MATERIALIZED (
    SELECT node, expires FROM nodes WHERE node IN (SELECT owner FROM task) OR node = $4::int8 FOR SHARE
),
judged AS MATERIALIZED (
    SELECT
        id, owner, epoch,
        state = ANY ($5::int2[]) AS ended,
        owner IS NOT DISTINCT FROM $4 AS own,
        EXISTS (SELECT 1 FROM holder WHERE node = owner AND expires > clock_timestamp()) AS held,
        EXISTS (SELECT 1 FROM holder WHERE node = $4 AND expires > clock_timestamp()) AS lives
    FROM task
),
claimed AS (
    UPDATE tasks AS t SET epoch = t.epoch + 1, owner = $4, released = NULL
    FROM judged AS j WHERE t.id = j.id AND NOT j.ended AND NOT j.own AND NOT j.held AND j.lives
    RETURNING t.epoch
)
SELECT
    ended, own, held, lives, owner,
    (SELECT epoch FROM claimed) AS claimed
FROM judged
