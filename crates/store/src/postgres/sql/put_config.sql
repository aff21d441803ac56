-- Stores a push configuration. The statement locks the head, so that no commit changes `sequence` between reading the
-- number and storing the pending records.
WITH head AS (
    UPDATE tasks SET pushed = true WHERE id = $1 AND tenant = $2 AND caller = $3
    RETURNING id, tenant, caller, sequence
)
INSERT INTO push_configs (
    task, id, tenant, caller, config, format, delivered, pending, attempts, next_attempt
)
SELECT id, $4, tenant, caller, $5, $6, least($7::int8, sequence), sequence, 0, $8 FROM head
ON CONFLICT (task, id) DO UPDATE SET
    config = excluded.config, format = excluded.format, delivered = excluded.delivered, pending = excluded.pending,
    attempts = 0, next_attempt = excluded.next_attempt, claimant = NULL, claimed_until = NULL, error = NULL
RETURNING 1
