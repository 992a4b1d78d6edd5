-- Lock the jobs of these zones with an id after $1 through $2 that have a slot to come. $3 zones. They are read by the next
-- statement: one that waited for a lock still sees all other tables as they were before it waited.
select job_id from cronty.due
where job_id > $1 and job_id <= $2 and zone = any($3::text[]) and (next_at is not null or held_slot is not null)
order by job_id
for update
