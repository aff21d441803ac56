-- A page of the tasks of a scope or of a context: the newest tasks of each state from the index, and the newest of
-- these. The result contains the tasks, their records, and a row without an id. This row contains the number of all
-- matching tasks, and the number of tasks that were found for the page, at the same moment. The statement continues in
-- list_next.sql and list_tail.sql. A further condition is inserted before each of them.
WITH page AS MATERIALIZED (
    SELECT found.* FROM unnest($3::int2[]) AS wanted (state) CROSS JOIN LATERAL (
        SELECT id, context, updated, updated_rest, sequence FROM tasks
        WHERE tenant = $1 AND caller = $2
