-- Alerts: notifications that are due now, made like any other job, each with its entry in the trail. $1 now, $2 owners,
-- $3 the jobs they are about (0: none), $4 names, $5 arguments, $6 policy, $7 who made them.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), job as (
  insert into cronty.jobs (owner_id, name, task, arguments, trigger, policy, tags, created_at, updated_at, origin)
  select u.owner_id, u.name, 'notify', u.arguments::jsonb,
    jsonb_build_object('kind', 'once', 'at', to_char(c.now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
    $6::jsonb, '{alert}', c.now, c.now,
    $7::jsonb || case when u.job_id > 0 then jsonb_build_object('about', u.job_id) else '{}' end
  from clock c, unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) u(owner_id, job_id, name, arguments)
  returning *
), due as (
  insert into cronty.due (job_id, owner_id, next_at, serial) select id, owner_id, created_at, true from job
), noted as (
  insert into cronty.audit (at, owner_id, job_id, what, client, after)
  select j.created_at, j.owner_id, j.id, 'created', j.origin, jsonb_build_object(
    'name', j.name, 'task', j.task, 'arguments', j.arguments, 'trigger', j.trigger, 'zone', j.zone, 'policy', j.policy,
    'tags', to_jsonb(j.tags), 'state', j.state, 'version', j.version)
  from job j
)
select pg_notify('cronty', 'due ' || extract(epoch from c.now)) from clock c
