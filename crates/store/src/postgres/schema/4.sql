-- Owes the push configurations of a task the records up to this one, and tells whether there are any. A function, as what it
-- says sees all that was registered while the commit waited for the head; a part of the commit's statement would not. A debt
-- that is there keeps its time, and a new one is due now: without a failure none is due later, whatever the clock was.
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
