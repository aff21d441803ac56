-- Stores the result of a delivery. If further records are pending after a success, the reservation of the node
-- continues. Otherwise the reservation ends. If the reservation belongs to another node, only `delivered` is updated
-- and a failure is ignored, because the other node has started its own attempts.
WITH was AS MATERIALIZED (
    SELECT task, id, greatest(delivered, $5::int8) AS delivered, pending, claimant IS NOT DISTINCT FROM $9::int8 AS is_ours
    FROM push_configs WHERE task = $1 AND tenant = $2 AND caller = $3 AND id = $4 FOR UPDATE
)
UPDATE push_configs AS p SET
    delivered = was.delivered,
    attempts = CASE WHEN was.is_ours THEN $6::int4 ELSE p.attempts END,
    next_attempt = CASE WHEN was.is_ours THEN $7::int8 ELSE p.next_attempt END,
    error = CASE WHEN was.is_ours THEN $8::text ELSE p.error END,
    claimant = CASE
        WHEN NOT was.is_ours THEN p.claimant
        WHEN $6 = 0 AND was.pending > was.delivered THEN $9
    END,
    claimed_until = CASE
        WHEN NOT was.is_ours THEN p.claimed_until
        WHEN $6 = 0 AND was.pending > was.delivered THEN clock_timestamp() + $10::float8 * interval '1 second'
    END
FROM was WHERE p.task = was.task AND p.id = was.id
