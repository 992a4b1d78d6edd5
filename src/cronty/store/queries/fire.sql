-- The ordinary fire: one slot, run at once by this worker. Advance the jobs and insert the runs, already claimed.
with moved as (
  update cronty.due d
  set next_at = u.next_slot + make_interval(secs => d.delay), last_slot = u.slot, last_run = u.slot,
    run_count = d.run_count + 1
  from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) u(job_id, slot, next_slot)
  where d.job_id = u.job_id
)
insert into cronty.runs (job_id, scheduled_for, followed_by, owner_id, state, attempt, worker, started_at)
select u.job_id, u.slot, u.next_slot, u.owner_id, 'running', 1, $5, $6
from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bigint[]) u(job_id, slot, next_slot, owner_id)
