-- The due deliveries that are not reserved for another living node. The longest due come first. The statement reserves
-- them for this node.
WITH due AS MATERIALIZED (
    SELECT task, id, tenant, caller, config, delivered, pending, attempts, next_attempt, claimant, claimed_until
    FROM push_configs AS p
    WHERE pending > delivered AND next_attempt <= $1::int8 AND (
        claimant IS NULL OR claimant = $3::int8 OR claimed_until <= clock_timestamp()
        OR NOT EXISTS (SELECT 1 FROM nodes WHERE node = p.claimant AND expires > clock_timestamp())
    )
    ORDER BY next_attempt, task, id LIMIT $2::int8 FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE push_configs AS p SET
        claimant = $3, claimed_until = clock_timestamp() + $4::float8 * interval '1 second'
    FROM due WHERE p.task = due.task AND p.id = due.id AND (
        due.claimant IS DISTINCT FROM $3 OR due.claimed_until < clock_timestamp() + $4 * interval '0.5 second'
    )
)
SELECT tenant, caller, config, delivered, pending, attempts FROM due ORDER BY next_attempt, task, id
