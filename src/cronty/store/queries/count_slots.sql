-- How many of an owner's slots got which verdict, by bins. $1 owner, $2 from, $3 until, $4 the width of a bin. `offset 0`
-- makes the planner go job by job instead of through the runs of all owners.
select date_bin($4, r.scheduled_for, $2) as start, r.state::text as verdict, sum(r.slots)::bigint as slots
from cronty.jobs j
cross join lateral (
  select r.scheduled_for, r.state, r.slots from cronty.runs r
  where r.job_id = j.id and r.scheduled_for >= $2 and r.scheduled_for < $3
  offset 0
) r
where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
group by 1, 2
