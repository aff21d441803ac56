-- Leaves a command, if a node that lives is at work on the task. The lock on the head has a commit that lets go of the
-- task wait, or is waited for: either the command is there before, or nobody is at work any more. It is one that is waited
-- for in turn: a lock that many share is never free for who waits, while others come. Whether the command was there before
-- this statement is told too.
WITH head AS MATERIALIZED (
    SELECT id, tenant, caller, owner FROM tasks WHERE id = $2 AND tenant = $3 AND caller = $4 FOR NO KEY UPDATE
),
holder AS MATERIALIZED (
    SELECT node FROM nodes WHERE node IN (SELECT owner FROM head) AND expires > clock_timestamp()
),
enqueued AS (
    INSERT INTO commands (id, task, tenant, caller, body)
    SELECT $1, head.id, head.tenant, head.caller, $5 FROM head, holder
    ON CONFLICT (id) DO NOTHING
)
SELECT (SELECT node FROM holder), EXISTS (SELECT 1 FROM commands WHERE id = $1) FROM head
