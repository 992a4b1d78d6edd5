-- Lock jobs that have a slot to come. They are read by the next statement: one that waited for a lock still sees all other
-- tables as they were before it waited.
select job_id from cronty.due
where job_id = any($1::bigint[]) and (next_at is not null or held_slot is not null)
order by job_id
for update
