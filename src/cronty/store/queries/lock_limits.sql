-- Lock these limits of tasks, as long as nobody else counts under them. $1 names. What depends on them is read by the next
-- statement: only that one sees what the last holder of the lock has written.
select name from cronty.task_limits where name = any($1::text[]) order by name for update skip locked
