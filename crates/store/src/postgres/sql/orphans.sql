-- Tasks that should run but have no node, oldest first. The four parts of the union are, in this order:
-- - tasks of nodes without a valid lease;
-- - tasks that this node may have claimed without a known result;
-- - tasks without an owner for which a command has waited longer than a lease;
-- - tasks without an owner in the states submitted (1) and working (2).
SELECT tenant, caller, id FROM (
    (
        SELECT t.tenant, t.caller, t.id, t.created FROM nodes AS n JOIN tasks AS t ON t.owner = n.node
        WHERE n.expires <= clock_timestamp() ORDER BY t.created, t.id LIMIT $1::int8
    )
    UNION
    SELECT tenant, caller, id, created FROM tasks WHERE id = ANY ($2::text[]) AND owner = $3::int8
    UNION
    SELECT t.tenant, t.caller, t.id, t.created FROM commands AS c JOIN tasks AS t ON t.id = c.task
    WHERE c.acked IS NULL AND c.refused IS NULL
        AND c.enqueued_at < clock_timestamp() - $4::float8 * interval '1 second'
        AND t.owner IS NULL AND t.state <> ALL ($5::int2[])
    UNION
    (
        SELECT tenant, caller, id, created FROM tasks WHERE owner IS NULL AND state IN (1, 2)
        ORDER BY created, id LIMIT $1
    )
) AS orphan
ORDER BY created, id LIMIT $1
