-- Have the results of runs told that have just ended and whose jobs want it. $1 now, $2 jobs, $3 slots. A run that was tried
-- again after it had failed is told again.
with told as (
  insert into cronty.tellings as t (job_id, scheduled_for, owner_id, attempt, due_at)
  select r.job_id, r.scheduled_for, r.owner_id, r.attempt, coalesce($1::timestamptz, statement_timestamp())
  from unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
  -- Each looked up by its key, whatever the statistics say of tables that were filled just now.
  cross join lateral (
    select * from cronty.runs r where r.job_id = u.job_id and r.scheduled_for = u.slot and r.state in ('done', 'failed') offset 0
  ) r
  cross join lateral (select from cronty.jobs j where j.id = u.job_id and j.policy ? 'tell' offset 0) j
  on conflict (job_id, scheduled_for) do update
  -- Another try, so that what is still on its way about the attempt before can't settle this.
  set attempt = excluded.attempt, due_at = excluded.due_at, state = 'waiting', failures = 0, error = null, told_at = null,
    tries = t.tries + 1
  where t.attempt < excluded.attempt
  returning t.job_id
)
select pg_notify('cronty', 'tell') from told limit 1
