-- The ordinary fire: this worker runs the due slot at once. Advance the jobs, whose due rows are locked, and insert the
-- runs, already claimed. $1 jobs, $2 their next slots, $3 worker, $4 now. The order makes all updates of `due` come before
-- the first insert into `runs`: alternating between the two tables takes a tenth longer.
with moved as (
  update cronty.due d
  set next_at = u.next_slot + make_interval(secs => d.delay), last_slot = d.next_at - make_interval(secs => d.delay),
    last_run = d.next_at - make_interval(secs => d.delay), run_count = d.run_count + 1
  from unnest($1::bigint[], $2::timestamptz[]) u(job_id, next_slot)
  where d.job_id = u.job_id
  returning d.job_id, d.last_slot, u.next_slot, d.owner_id
)
insert into cronty.runs (job_id, scheduled_for, followed_by, owner_id, state, attempt, worker, started_at)
select m.job_id, m.last_slot, m.next_slot, m.owner_id, 'running', 1, $3, $4
from moved m
order by m.job_id
