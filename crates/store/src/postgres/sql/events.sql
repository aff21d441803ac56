-- A range of a log, with the head of the task in each row; one row with NULL columns if there are no records. The row
-- that reaches $6 bytes is the last row.
SELECT t.context, t.sequence, e.last, e.body
FROM tasks AS t LEFT JOIN LATERAL (
    SELECT last, body FROM (
        SELECT last, body, sum(octet_length(body)) OVER (ORDER BY last) - octet_length(body) AS before
        FROM (
            SELECT last, body FROM events
            WHERE task = t.id AND last > $4::int8 AND last <= t.sequence ORDER BY last LIMIT $5::int8
        ) AS next
    ) AS counted
    WHERE before < $6::int8
) AS e ON true
WHERE t.id = $1 AND t.tenant = $2 AND t.caller = $3
ORDER BY e.last
