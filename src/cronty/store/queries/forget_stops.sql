-- Delete stop requests that have been met. $1 worker, $2 jobs, $3 slots.
delete from cronty.stop_requests s
using unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
where s.worker = $1 and s.job_id = u.job_id and s.scheduled_for = u.slot
