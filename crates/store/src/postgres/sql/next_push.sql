-- The time of the next delivery. If the delivery is reserved for another node: the end of the reservation.
SELECT least(
    (
        SELECT next_attempt FROM push_configs AS p
        WHERE pending > delivered AND (
            claimant IS NULL OR claimant = $1::int8 OR claimed_until <= clock_timestamp()
            OR NOT EXISTS (SELECT 1 FROM nodes WHERE node = p.claimant AND expires > clock_timestamp())
        )
        ORDER BY next_attempt LIMIT 1
    ),
    (
        SELECT (extract(epoch FROM min(claimed_until)) * 1000)::int8 FROM push_configs
        WHERE claimant IS NOT NULL AND claimant <> $1 AND pending > delivered
    )
)
