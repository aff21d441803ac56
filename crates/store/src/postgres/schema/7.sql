-- Renames `owed` to `pending`: the number of the last record that a push configuration must still receive.
ALTER TABLE push_configs RENAME COLUMN owed TO pending;
DROP FUNCTION owe(text, bigint, bigint);

-- Makes the records of a task up to this one pending for its push configurations. Returns whether the task has any. This is
-- a function because its statement sees each configuration that was stored while the commit waited for the lock of the
-- head; a part of the commit's own statement does not. Records that are pending already keep their time. New records are
-- due now: without a failure nothing is due later, whatever the clock showed before.
CREATE FUNCTION add_pending(task text, sequence bigint, now bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_configs AS p SET
        pending = add_pending.sequence,
        next_attempt = CASE
            WHEN p.pending <= p.delivered THEN add_pending.now
            WHEN p.attempts = 0 THEN least(p.next_attempt, add_pending.now)
            ELSE p.next_attempt
        END
    WHERE p.task = add_pending.task;
    RETURN found;
END
$$;
