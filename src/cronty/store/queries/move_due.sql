-- Advance jobs that don't have an ordinary fire. $4 through which slot the last row reaches, if it covers several, $5 the last
-- run, if runs may overlap, $6 how many slots will be run.
update cronty.due d
set next_at = u.next_slot + make_interval(secs => d.delay), last_slot = coalesce(u.last_slot, d.last_slot),
  last_through = coalesce(u.through, d.last_through), last_run = coalesce(u.last_run, d.last_run),
  run_count = d.run_count + u.executed
from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::int[])
  u(job_id, next_slot, last_slot, through, last_run, executed)
where d.job_id = u.job_id
