-- A page of the tasks that run on a node, oldest first, after the last task of the previous page.
SELECT tenant, caller, id, epoch, sequence, (extract(epoch FROM created) * 1000000)::int8 FROM tasks
WHERE owner = $1::int8 AND (created, id) > (timestamptz 'epoch' + $2::int8 * interval '1 microsecond', $3::text)
ORDER BY created, id LIMIT $4::int8
