-- Lock the jobs of these zones with an id after $1 through $2, with what their next slot is computed from. $3 zones.
-- The limits of 1 keep the looks at job and run looks by key, also in a plan that was made while the tables were empty.
select d.job_id, d.owner_id, d.delay, d.expression, d.zone, j.trigger::text, j.ends_at, d.last_slot,
  greatest(d.last_slot, j.updated_at) as computed_after,
  coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot) as slot
from (
  select * from cronty.due
  where job_id > $1 and job_id <= $2 and zone = any($3::text[]) and (next_at is not null or held_slot is not null)
  order by job_id
  for update
) d
cross join lateral (
  select trigger, ends_at, updated_at from cronty.jobs where id = d.job_id and state in ('active', 'paused') limit 1
) j
left join lateral (
  select through from cronty.runs where job_id = d.job_id and scheduled_for = d.last_slot limit 1
) r on true
