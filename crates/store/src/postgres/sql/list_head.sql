-- A page of the tasks of a scope, or of one of its contexts: of each state the newest from its index, and of these the
-- newest; with their events, and in a row without an id how many tasks match in all and how many of them were looked
-- at for the page, as of the same moment. It goes on in
-- list_next.sql and in list_tail.sql, both after what else is asked of a task.
WITH page AS MATERIALIZED (
    SELECT found.* FROM unnest($3::int2[]) AS wanted (state) CROSS JOIN LATERAL (
        SELECT id, context, updated, updated_rest, sequence FROM tasks
        WHERE tenant = $1 AND caller = $2
