-- A new job and its place in time. No row if its idempotency key or its number ($26) is taken, or if there is no such
-- owner. Engines are woken only if the first slot comes before they would look anyway.
with job as (
  insert into cronty.jobs (owner_id, name, task, arguments, trigger, zone, policy, tags, max_runs, ends_at, idempotency_key,
    created_at, updated_at, origin, key_id, number, slots_after)
  select o.id, $2, $3, $4::jsonb, $5::jsonb, $20, $6::jsonb, $7, $8, $9, $10, $11, $11, $22::jsonb, $23, $26, $27
  from cronty.owners o where o.name = $1
  on conflict do nothing
  returning *
), due as (
  insert into cronty.due (job_id, owner_id, next_at, delay, serial, period, expression, zone, dst_gap, dst_overlap)
  select id, owner_id, $12::timestamptz + make_interval(secs => $13::int), $13::int, $14, $15, $16, $17, $18, $19 from job
), zoned as (
  -- A zone that is new here, or that this process knows by other rules: then the job is looked at again. No row is
  -- touched in the usual case, because others would have to wait for it.
  insert into cronty.zones (name, rules, version, changed_at)
  select $17, $21, $28, $11 from job
  where $17::text is not null and not exists (select from cronty.zones z where z.name = $17 and z.rules = $21)
  on conflict (name) do update set through = least(zones.through, (select id - 1 from job))
), noted as (
  insert into cronty.audit (at, owner_id, job_id, what, actor, client, after)
  select j.created_at, j.owner_id, j.id, 'created', $24::jsonb, $25::jsonb, jsonb_strip_nulls(jsonb_build_object(
    'number', j.number, 'name', j.name, 'task', j.task, 'arguments', j.arguments, 'trigger', j.trigger,
    'zone', j.zone, 'policy', j.policy, 'tags', to_jsonb(j.tags), 'max_runs', j.max_runs,
    'ends_at', to_char(j.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), 'state', j.state, 'version', j.version))
  from job j
)
select id, case when $12::timestamptz < $11::timestamptz + interval '30 seconds'
    then pg_notify('cronty', 'due ' || extract(epoch from $12::timestamptz)) end
from job
