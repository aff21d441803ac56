body AS (DELETE FROM bodies USING head WHERE task = head.id),
event AS (DELETE FROM events USING head WHERE task = head.id),
config AS (DELETE FROM push_configs USING head WHERE task = head.id),
letter AS (DELETE FROM letters USING head WHERE task = head.id),
known AS MATERIALIZED (
    -- In the order in which commits take them.
    SELECT m.tenant, m.caller, m.message FROM messages AS m JOIN head ON m.task = head.id
    ORDER BY m.tenant, m.caller, m.message FOR UPDATE OF m
),
message AS (
    DELETE FROM messages AS m USING known
    WHERE (m.tenant, m.caller, m.message) = (known.tenant, known.caller, known.message)
),
total AS (
    INSERT INTO totals (tenant, caller, state, tasks)
    SELECT tenant, caller, state, -count(*) FROM head GROUP BY tenant, caller, state
)
SELECT count(*) FROM head
