-- How many of an owner's slots got which verdict since a time. $1 owner, $2 since.
select r.state::text as state, sum(r.slots)::int as slots
from cronty.jobs j
cross join lateral (
  select r.state, r.slots from cronty.runs r
  where r.job_id = j.id and r.scheduled_for > $2::timestamptz - interval '31 days'
    and coalesce(r.finished_at, r.started_at) >= $2::timestamptz
  offset 0
) r
where j.owner_id = (select id from cronty.owners where name = $1)
group by r.state
order by slots desc
