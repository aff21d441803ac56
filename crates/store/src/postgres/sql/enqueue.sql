-- Stores a command, if the task is running on a living node. Either the lock of the head waits for a commit that
-- releases the task, or this commit waits for the lock. Therefore either the commit finds the command, or this
-- statement finds that the task is not running. The lock must be exclusive: commits could wait forever for a shared
-- lock that many nodes hold in turn. The second column tells whether the command existed before this statement.
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
