-- Lock the jobs of these zones with an id after $1 through $2 that have a slot to come. $3 zones. One that isn't `locked`
-- because another transaction has it is skipped: waiting for it would hold up the jobs of all owners. They are read by the
-- next statement: this one may lock a newer row than it sees in other tables.
select d.job_id, l.job_id is not null as locked
from (
  select job_id from cronty.due
  where job_id > $1 and job_id <= $2 and zone = any($3::text[]) and (next_at is not null or held_slot is not null)
  order by job_id
) d
left join lateral (select job_id from cronty.due where job_id = d.job_id limit 1 for update skip locked) l on true
