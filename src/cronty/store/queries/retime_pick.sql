-- What the next slots of these jobs, which are locked, are computed from.
-- The limit of 1 keeps the look at the job a look by key, also in a plan that was made while the tables were empty.
select d.job_id, d.owner_id, d.delay, d.expression, d.zone, j.trigger::text, j.ends_at, d.last_slot,
  greatest(j.slots_after, d.last_slot, d.last_through) as computed_after,
  coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot) as slot
from cronty.due d
cross join lateral (
  select trigger, ends_at, slots_after from cronty.jobs where id = d.job_id and state in ('active', 'paused') limit 1
) j
where d.job_id = any($1::bigint[])
