-- The next jobs in order of their id, with what their next slot was computed from. $1 after this id, $2 how many,
-- $3 the version's number: what it computed itself needs no second look.
-- The limit of 1 keeps the look at the job a look by key, also in a plan that was made while the table was empty.
select d.job_id, d.owner_id, d.delay, d.expression, d.zone, j.trigger::text, j.ends_at, d.last_slot,
  greatest(d.last_slot, j.updated_at) as computed_after,
  coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot) as slot,
  d.zone is not null and j.state in ('active', 'paused') and d.tzdata is distinct from $3
    and coalesce(d.next_at, d.held_slot) is not null as doubtful
from (select * from cronty.due where job_id > $1 order by job_id limit $2 for update) d
cross join lateral (select trigger, ends_at, updated_at, state from cronty.jobs where id = d.job_id limit 1) j
