-- What the next slots of these jobs, which are locked, are computed from.
-- The limits of 1 keep the looks at job and run looks by key, also in a plan that was made while the tables were empty.
select d.job_id, d.owner_id, d.delay, d.expression, d.zone, j.trigger::text, j.ends_at, d.last_slot,
  greatest(d.last_slot, j.updated_at) as computed_after,
  coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot) as slot
from cronty.due d
cross join lateral (
  select trigger, ends_at, updated_at from cronty.jobs where id = d.job_id and state in ('active', 'paused') limit 1
) j
left join lateral (
  select through from cronty.runs where job_id = d.job_id and scheduled_for = d.last_slot limit 1
) r on true
where d.job_id = any($1::bigint[])
