-- Settle successes, fenced by attempt and worker: an outcome that comes too late finds no row.
-- No condition on `state`: it would tempt the planner away from the primary key.
update cronty.runs r
set state = 'done', worker = null, result = u.result::jsonb,
  finished_at = n.now - u.ended_ago * interval '1 second',
  started_at = n.now - (u.ended_ago + u.took) * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n,
  unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::text[], $7::float8[], $8::float8[])
  u(job_id, slot, attempt, result, ended_ago, took)
where r.job_id = u.job_id and r.scheduled_for = u.slot and r.attempt = u.attempt and r.worker = $2
