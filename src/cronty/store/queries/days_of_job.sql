-- How many slots of an owner's job got which verdict, by days of a zone, and by how many runs. $1 owner, $2 the job's number,
-- $3 zone, $4 from, $5 how many runs are looked at, the latest first.
select (r.scheduled_for at time zone $3)::date as day, r.state::text as verdict, sum(r.slots)::bigint as slots, count(*) as runs
from (
  select r.scheduled_for, r.state, r.slots from cronty.runs r
  where r.job_id = (
      select j.id from cronty.jobs j where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2)
    and r.scheduled_for >= $4
  order by r.scheduled_for desc
  limit $5
) r
group by 1, 2
