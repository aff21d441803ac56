-- Deletes locked tasks with all of their data except the records, which drain.sql deletes afterwards. Unless $2 is
-- true, tasks with pending deliveries stay.
WITH head AS (
    DELETE FROM tasks AS t WHERE id = ANY ($1::text[]) AND (
        $2::bool OR NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE task = t.id AND pending > delivered))
    )
    RETURNING id, tenant, caller, state
),
record AS (
    INSERT INTO deleted (task)
    SELECT id FROM head WHERE EXISTS (SELECT 1 FROM events WHERE task = head.id)
    ON CONFLICT (task) DO NOTHING
),
body AS (DELETE FROM bodies USING head WHERE task = head.id),
config AS (DELETE FROM push_configs USING head WHERE task = head.id),
command AS (DELETE FROM commands USING head WHERE task = head.id),
known AS MATERIALIZED (
    -- The order in which commits lock these rows.
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
SELECT tenant, caller, count(*) FROM head GROUP BY tenant, caller
