-- Give failed runs another round of attempts: same run, same id, a higher attempt. $1 owner, $2 numbers of jobs, $3 slots, $4 prompts too,
-- $5 now, $6 how many seconds ago those must have failed that reach outside, $7 the agent that asks (null: none): prompts for another are left out
-- unless it has made them.
-- The last attempt is stored in the run itself, and moves to `attempts`.
with picked as (
  select r.job_id, r.scheduled_for, r.owner_id, r.attempt, r.started_at, r.finished_at, r.state, r.error, r.reason
  from unnest($2::bigint[], $3::timestamptz[]) u(number, slot)
  join cronty.jobs j on j.owner_id = (select id from cronty.owners where name = $1) and j.number = u.number
  join cronty.runs r on r.job_id = j.id and r.scheduled_for = u.slot
  where r.state in ('failed', 'quarantined')
    and j.deleted_at is null and j.state <> 'cancelled'
    and ($4::boolean or not (j.task = 'prompt' or starts_with(j.task, 'prompt:')))
    and ($7::text is null or not (j.task = 'prompt' or starts_with(j.task, 'prompt:'))
      or $7 in (coalesce(j.arguments -> 'kwargs' ->> 'agent', $7), j.origin ->> 'agent'))
    and ($6::float8 = 0 or not (j.task in ('prompt', 'notify', 'webhook') or starts_with(j.task, 'prompt:'))
      or r.finished_at <= coalesce($5::timestamptz, statement_timestamp()) - $6 * interval '1 second')
  for update of r
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, started_at, ended_at, outcome, error)
  select job_id, scheduled_for, attempt, owner_id, started_at, finished_at, case when state = 'failed' then 'failed' else 'lost' end,
    coalesce(error, reason)
  from picked
  where attempt > 0
  on conflict do nothing
), again as (
  update cronty.runs r
  set state = 'waiting', finished_at = null, error = null, reason = 'tried again by request', failures = 0, crashes = 0
  from picked p
  where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for
), uncounted as (
  update cronty.jobs j
  set failure_count = greatest(0, j.failure_count - p.runs)
  from (select job_id, count(*) as runs from picked group by job_id) p
  where j.id = p.job_id
)
select p.job_id, j.number as job_number, p.scheduled_for, p.owner_id, j.task, d.serial
from picked p
join cronty.jobs j on j.id = p.job_id
join cronty.due d on d.job_id = p.job_id
order by p.job_id, p.scheduled_for
