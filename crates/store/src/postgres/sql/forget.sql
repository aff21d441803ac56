-- Deletes message ids that were stored before a time.
DELETE FROM messages WHERE (tenant, caller, message) IN (
    SELECT tenant, caller, message FROM messages WHERE at < $1::int8 ORDER BY at LIMIT $2::int8 FOR UPDATE SKIP LOCKED
) RETURNING 1
