-- Makes the records of a task up to `sequence` pending for its push configurations. Returns whether the task has any.
-- This is a function because its statement sees each configuration that was stored while the commit waited for the lock
-- of the head; a part of the commit's own statement does not. Pending records keep their time. New records are due now:
-- without an earlier failure, no record is due later than now, even if the clock was changed.
CREATE FUNCTION owe(task text, sequence bigint, now bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_configs AS p SET
        owed = owe.sequence,
        next_attempt = CASE
            WHEN p.owed <= p.delivered THEN owe.now
            WHEN p.attempts = 0 THEN least(p.next_attempt, owe.now)
            ELSE p.next_attempt
        END
    WHERE p.task = owe.task;
    RETURN found;
END
$$;
