body AS (DELETE FROM bodies USING head WHERE task = head.id),
event AS (DELETE FROM events USING head WHERE task = head.id),
config AS (DELETE FROM push_configs USING head WHERE task = head.id),
letter AS (DELETE FROM letters USING head WHERE task = head.id),
message AS (DELETE FROM messages USING head WHERE task = head.id),
total AS (
    INSERT INTO totals (tenant, caller, state, tasks)
    SELECT tenant, caller, state, -count(*) FROM head GROUP BY tenant, caller, state
)
SELECT count(*) FROM head
