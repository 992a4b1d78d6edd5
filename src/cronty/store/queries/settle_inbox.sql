-- Settle prompts with the outcomes their agents report; a given attempt must be the current one. $1 now, $2 owner, $3 the
-- numbers of their jobs, $4 slots, $5 attempts (null: any), $6 states, $7 seconds until it is shown again (null: it has
-- ended), $8 results, $9 errors, $10 the agent that settles them (null: any), $11 actor, $12 client.
with given as (
  select * from unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::text[], $7::float8[], $8::text[], $9::text[])
    u(number, slot, attempt, state, wait, result, error)
), clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), picked as (
  select q.job_id, g.number, q.scheduled_for, q.owner_id, r.attempt, g.state, g.wait, g.result, g.error, r.started_at, j.policy ? 'tell' as tells
  from given g
  join cronty.jobs j on j.owner_id = (select id from cronty.owners where name = $2) and j.number = g.number
  join cronty.queue q on q.job_id = j.id and q.scheduled_for = g.slot
  join cronty.runs r on r.job_id = j.id and r.scheduled_for = g.slot
  where q.task = 'prompt' and q.due_at is not null
    and r.attempt = coalesce(g.attempt, r.attempt)
    and ($10::text is null or coalesce(j.arguments -> 'kwargs' ->> 'agent', $10) = $10)
  for update of q, r
), over as (
  delete from cronty.queue q using picked p
  where q.job_id = p.job_id and q.scheduled_for = p.scheduled_for and p.wait is null
), put_off as (
  update cronty.queue q
  set due_at = c.now + p.wait * interval '1 second'
  from picked p, clock c
  where q.job_id = p.job_id and q.scheduled_for = p.scheduled_for and p.wait is not null
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, started_at, ended_at, outcome)
  select p.job_id, p.scheduled_for, p.attempt, p.owner_id, p.started_at, c.now, 'snoozed'
  from picked p, clock c
  where p.wait is not null and p.attempt > 0
  on conflict do nothing
), told as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, actor, client, after)
  select c.now, p.owner_id, p.job_id, p.number, case when p.wait is null then 'prompt settled' else 'prompt snoozed' end,
    $11::jsonb, $12::jsonb, jsonb_strip_nulls(jsonb_build_object('outcome', case when p.wait is null then p.state end, 'attempt', p.attempt,
      'run', to_char(p.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')))
  from picked p, clock c
), settled as (
  update cronty.runs r
  set state = p.state::cronty.run_state, result = p.result::jsonb, error = p.error, finished_at = c.now,
    failures = r.failures + case when p.state = 'failed' then 1 else 0 end
  from picked p, clock c
  where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for and p.wait is null
), counted as (
  select job_id, count(*) filter (where state = 'failed') as failures, min(error) filter (where state = 'failed') as error
  from picked where wait is null
  group by job_id
), was as (
  select j.id, j.failures_in_row, j.last_error
  from counted c join cronty.jobs j on j.id = c.job_id
  where c.failures > 0 or j.last_error is not null
  order by j.id for no key update of j
), failing as (
  update cronty.jobs j
  set failure_count = j.failure_count + c.failures, last_error = c.error,
    failures_in_row = case when c.failures > 0 then j.failures_in_row + c.failures else 0 end
  from was w join counted c on c.job_id = w.id
  where j.id = w.id
  returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before, w.failures_in_row as failures_before,
    w.last_error as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
)
select p.job_id, p.number as job_number, p.scheduled_for, p.state as verdict, p.wait is null as over, p.wait is null and p.tells as tells, f.*
from picked p left join failing f on f.id = p.job_id
