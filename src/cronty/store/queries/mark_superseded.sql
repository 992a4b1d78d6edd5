-- Record outcomes that came too late: the run was given to another worker meanwhile. If the run row still has this attempt,
-- it was settled before (only the answer was lost), and is left alone. So is an attempt that the run row hasn't reached,
-- because the database lost its latest transactions.
insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, worker, ended_at, outcome, error)
select u.job_id, u.slot, u.attempt, r.owner_id, $2, coalesce($1::timestamptz, statement_timestamp()), 'superseded', u.reported
from unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::text[]) u(job_id, slot, attempt, reported)
join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.slot
where r.attempt > u.attempt or (r.attempt = u.attempt and r.state in ('waiting', 'quarantined'))
on conflict (job_id, scheduled_for, attempt) do update
  set outcome = 'superseded', error = excluded.error, ended_at = excluded.ended_at
  where cronty.attempts.outcome = 'lost'
returning 1
