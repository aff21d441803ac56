-- Creates many tasks. Each task occurs once. A node without a valid lease cannot create running tasks. If a message of
-- a commit is a duplicate, the whole statement fails, because messages.at is not null.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int2[], $7::int8[], $8::int4[],
        $9::bool[], $10::text[], $11::text[], $12::text[]
    ) AS i (
        id, tenant, caller, context, sequence, state, updated, updated_rest,
        released, records, body, artifacts
    )
),
config AS MATERIALIZED (
    SELECT * FROM unnest($15::text[], $16::text[], $17::text[], $18::text[]) AS c (task, id, config, format)
),
remembered AS MATERIALIZED (
    SELECT * FROM unnest($19::text[], $20::text[], $21::int8[]) AS r (task, message, since)
),
me AS MATERIALIZED (
    SELECT node FROM nodes WHERE node = $13::int8 AND expires > clock_timestamp()
),
head AS (
    INSERT INTO tasks (
        id, tenant, caller, context, sequence, epoch, owner,
        updated, updated_rest, released, state, state_before, pushed
    )
    SELECT
        i.id, i.tenant, i.caller, i.context, i.sequence, 1, CASE WHEN NOT i.released THEN $13 END,
        i.updated, i.updated_rest, CASE WHEN i.released AND i.records IS NOT NULL THEN (extract(epoch FROM clock_timestamp()) * 1000)::int8 END, i.state, i.state,
        EXISTS (SELECT 1 FROM config WHERE config.task = i.id)
    FROM input AS i WHERE (i.released OR EXISTS (SELECT 1 FROM me))
        AND NOT EXISTS (SELECT 1 FROM deleted WHERE deleted.task = i.id)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant, caller, sequence, state, pushed
),
event AS (
    INSERT INTO events (task, last, body)
    SELECT head.id, i.sequence, i.records FROM head JOIN input AS i USING (id) WHERE i.records IS NOT NULL
),
snapshot AS (
    INSERT INTO bodies (task, folded, body, artifacts)
    SELECT head.id, i.sequence, i.body, i.artifacts FROM head JOIN input AS i USING (id) WHERE i.body IS NOT NULL
),
webhook AS (
    INSERT INTO push_configs (
        task, id, tenant, caller, config, format, delivered, pending, attempts, next_attempt
    )
    SELECT head.id, c.id, head.tenant, head.caller, c.config, c.format, 0, head.sequence, 0, $14::int8
    FROM head JOIN config AS c ON c.task = head.id
),
message AS (
    -- A duplicate gets the time NULL, which fails the statement. The order prevents deadlocks between nodes.
    INSERT INTO messages (tenant, caller, message, task, at)
    SELECT head.tenant, head.caller, r.message, head.id, (extract(epoch FROM clock_timestamp()) * 1000)::int8
    FROM remembered AS r JOIN head ON head.id = r.task
    ORDER BY head.tenant COLLATE "C", head.caller COLLATE "C", r.message COLLATE "C"
    ON CONFLICT (tenant, caller, message) DO UPDATE SET
        task = excluded.task,
        at = CASE WHEN messages.at < (
            SELECT r.since FROM remembered AS r WHERE r.task = excluded.task AND r.message = excluded.message
        ) THEN excluded.at END
),
added AS (
    INSERT INTO totals (tenant, caller, state, tasks)
    SELECT tenant, caller, state, count(*) FROM head GROUP BY tenant, caller, state
)
SELECT i.id, head.id IS NOT NULL, head.pushed IS TRUE, i.released OR EXISTS (SELECT 1 FROM me)
FROM input AS i LEFT JOIN head ON head.id = i.id
