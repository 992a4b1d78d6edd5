-- The latest $3 runs of each of an owner's jobs $2, the newest first.
select j.number as job_number, r.scheduled_for, r.state::text as verdict, r.started_at
from cronty.jobs j
cross join lateral (
  select r.scheduled_for, r.state, r.started_at from cronty.runs r
  where r.job_id = j.id
  order by r.scheduled_for desc
  limit $3
) r
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = any($2::bigint[])
order by j.number, r.scheduled_for desc
