-- A new job and its due row, in the form of `show_job`. No row if its idempotency key or its number (:number) is taken, or
-- if there is no such owner. Engines are notified of it if :say.
with job as (
  insert into cronty.jobs (owner_id, name, task, arguments, trigger, said, zone, policy, tags, max_runs, ends_at, idempotency_key, request,
    created_at, updated_at, origin, key_id, number, slots_after)
  select o.id, :name, :task, :arguments::jsonb, :trigger::jsonb, :said, :zone, :policy::jsonb, :tags, :max_runs, :ends_at, :idempotency_key, :request, :now, :now, :origin::jsonb, :key_id, :number, :slots_after
  from cronty.owners o where o.name = :owner
  on conflict do nothing
  returning *
), due as (
  insert into cronty.due (job_id, owner_id, next_at, delay, serial, period, expression, zone, dst_gap, dst_overlap)
  select id, owner_id, :first_slot::timestamptz + make_interval(secs => :delay::int), :delay::int, :serial, :period, :expression, :rule_zone, :dst_gap, :dst_overlap from job
), zoned as (
  -- If the zone is new, or has other rules in this process, its jobs are checked again. Usually no row is written,
  -- because others would have to wait for it.
  insert into cronty.zones (name, rules, version, changed_at)
  select :rule_zone, :rules, :tzdata, :now from job
  where :rule_zone::text is not null and not exists (select from cronty.zones z where z.name = :rule_zone and z.rules = :rules)
  on conflict (name) do update set through = least(zones.through, (select id - 1 from job))
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, actor, client, after)
  select j.created_at, j.owner_id, j.id, j.number, 'created', :actor::jsonb, :via::jsonb, jsonb_strip_nulls(jsonb_build_object(
    'name', j.name, 'task', j.task, 'arguments', j.arguments, 'trigger', j.trigger,
    'zone', j.zone, 'policy', j.policy, 'tags', to_jsonb(j.tags), 'max_runs', j.max_runs,
    'ends_at', to_char(j.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), 'state', j.state, 'version', j.version))
  from job j
)
select j.*, :owner as owner, j.arguments::text as arguments_json, j.trigger::text as trigger_json, j.policy::text as policy_json,
  :first_slot::timestamptz as next_slot, null::timestamptz as held_slot, null::timestamptz as last_slot, null::timestamptz as last_run,
  0 as run_count, 0 as manual_count, 0 as in_flight,
  case when :say::boolean then pg_notify('cronty', 'due ' || extract(epoch from :first_slot::timestamptz + make_interval(secs => :delay::int))) end
from job j
