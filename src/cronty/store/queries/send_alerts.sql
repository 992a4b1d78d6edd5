-- Turn alerts into jobs: notifications, and prompts for owners without a channel, that are due now, each with an entry in the trail; how many.
-- $1 how many at most, $2 policy, $3 who made them.
with picked as (
  delete from cronty.alerts
  where id in ( -- owners whose row is locked are left to the next call, so that the others don't wait
    select a.id from cronty.alerts a join cronty.owners o on o.id = a.owner_id
    where o.erasing_since is null -- else they are erased with the owner
    order by a.id limit $1 for no key update skip locked)
  returning *
), job as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at, origin)
  select p.owner_id, cronty.take_numbers(p.owner_id, 1), p.name, p.task, p.arguments,
    jsonb_build_object('kind', 'once', 'at', to_char(p.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
    $2::jsonb, '{alert}', p.at, p.at,
    $3::jsonb || coalesce((select jsonb_build_object('about', j.number) from cronty.jobs j where j.id = p.job_id), '{}')
  from picked p
  order by p.id
  returning *
), due as (
  insert into cronty.due (job_id, owner_id, next_at, serial) select id, owner_id, created_at, true from job
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, client, after)
  select j.created_at, j.owner_id, j.id, j.number, 'created', j.origin, jsonb_build_object(
    'name', j.name, 'task', j.task, 'arguments', j.arguments, 'trigger', j.trigger, 'zone', j.zone, 'policy', j.policy,
    'tags', to_jsonb(j.tags), 'state', j.state, 'version', j.version)
  from job j
)
select count(*), case when count(*) > 0 then pg_notify('cronty', 'due ' || extract(epoch from min(created_at))) end from job
