-- Runs were claimed under limits whose rows are locked. $1 now, $2 limits, $3 jobs, $4 slots, $5 attempts, $6 owners.
insert into cronty.starts (limit_name, job_id, scheduled_for, attempt, owner_id, started_at, ended)
select l.name, u.job_id, u.slot, u.attempt, u.owner_id, coalesce($1::timestamptz, statement_timestamp()), false
from cronty.task_limits l
cross join unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::bigint[]) u(job_id, slot, attempt, owner_id)
where l.name = any($2::text[]) and (l.at_once is not null or l.per_minute is not null)
on conflict (limit_name, job_id, scheduled_for, attempt) do update
  set started_at = excluded.started_at, ended = excluded.ended -- the attempt was put off, and starts again
