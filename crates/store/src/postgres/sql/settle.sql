-- Notes how a delivery went. Who goes on with the next record keeps it to itself; who is done, or waits, lets go of it.
WITH was AS MATERIALIZED (
    SELECT task, id, greatest(delivered, $5::int8) AS delivered, owed FROM push_configs
    WHERE task = $1 AND tenant = $2 AND caller = $3 AND id = $4 FOR UPDATE
)
UPDATE push_configs AS p SET
    delivered = was.delivered,
    attempts = $6,
    next_attempt = $7,
    error = $8,
    claimant = CASE WHEN $6 = 0 AND was.owed > was.delivered THEN $9::int8 END,
    claimed_until = CASE
        WHEN $6 = 0 AND was.owed > was.delivered THEN clock_timestamp() + $10::float8 * interval '1 second'
    END
FROM was WHERE p.task = was.task AND p.id = was.id
