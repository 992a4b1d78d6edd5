-- Settle successes. A row must still have this attempt and worker: an outcome that comes too late finds none.
-- $5 and $6, numbers of attempts and results, may be empty: then all are first attempts, and there are no results.
-- $9 and $10 are the first and the last slot, so that other weekly partitions aren't read. The condition on `u` makes the
-- planner expect few rows and look them up by key. There is no condition on `state`: it would make it choose another index.
update cronty.runs r
set state = 'done', worker = null, result = u.result::jsonb,
  finished_at = n.now - u.ended_ago * interval '1 second',
  started_at = n.now - (u.ended_ago + u.took) * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n,
  unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::text[], $7::float8[], $8::float8[])
  u(job_id, slot, attempt, result, ended_ago, took)
where r.job_id = u.job_id and r.scheduled_for = u.slot and r.attempt = coalesce(u.attempt, 1) and r.worker = $2
  and r.scheduled_for between $9 and $10 and u.slot between $9 and $10
