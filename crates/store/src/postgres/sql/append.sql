-- Appends to the logs of many tasks. Each task occurs once; the input is sorted by id. A commit without a returned row
-- failed its checks. If a message of a commit is a duplicate, the whole statement fails, because messages.at is not
-- null.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int2[], $8::int8[], $9::int4[],
        $10::bool[], $11::text[], $12::text[], $13::text[]
    ) AS i (
        id, tenant, caller, expected, epoch, sequence, state, updated, updated_rest,
        released, records, body, artifacts
    )
),
remembered AS MATERIALIZED (
    SELECT * FROM unnest($19::text[], $20::text[], $21::int8[]) AS r (task, message, since)
),
head AS (
    UPDATE tasks AS t SET
        sequence = i.sequence,
        state_before = t.state,
        state = i.state,
        updated = i.updated,
        updated_rest = i.updated_rest,
        owner = CASE WHEN i.released THEN NULL ELSE coalesce(t.owner, $14::int8) END,
        released = CASE WHEN i.released THEN (extract(epoch FROM clock_timestamp()) * 1000)::int8 END
    FROM input AS i
    WHERE t.id = i.id AND t.tenant = i.tenant AND t.caller = i.caller
        AND t.sequence = i.expected AND t.epoch = i.epoch
    RETURNING t.id, t.tenant, t.caller, t.sequence, t.state_before, t.state, t.pushed
),
event AS (
    INSERT INTO events (task, last, body)
    SELECT head.id, i.sequence, i.records FROM head JOIN input AS i USING (id) WHERE i.records IS NOT NULL
),
snapshot AS (
    INSERT INTO bodies (task, folded, body, artifacts)
    SELECT head.id, i.sequence, i.body, i.artifacts FROM head JOIN input AS i USING (id) WHERE i.body IS NOT NULL
    ON CONFLICT (task) DO UPDATE SET folded = excluded.folded, body = excluded.body, artifacts = excluded.artifacts
),
command AS (
    UPDATE commands AS c SET acked = given.sequence
    FROM unnest($16::text[], $17::text[], $18::int8[]) AS given (task, id, sequence) JOIN head ON head.id = given.task
    WHERE c.id = given.id AND c.task = given.task AND c.acked IS NULL
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
moved AS (
    INSERT INTO totals (tenant, caller, state, tasks)
    SELECT tenant, caller, change.state, sum(change.tasks)
    FROM head CROSS JOIN LATERAL (VALUES (head.state, 1), (head.state_before, -1)) AS change (state, tasks)
    WHERE head.state <> head.state_before
    GROUP BY tenant, caller, change.state HAVING sum(change.tasks) <> 0
)
SELECT id, CASE WHEN pushed THEN add_pending(id, sequence, $15::int8) ELSE false END FROM head
