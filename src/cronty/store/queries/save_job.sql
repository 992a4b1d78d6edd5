-- Save a locked job. Its failures are only added to, because a settlement may count them at the same time.
-- :deleted_from is null if it isn't deleted.
with job as (
  update cronty.jobs
  set name = :name, task = :task, arguments = :arguments::jsonb, trigger = :trigger::jsonb, said = :said, zone = :zone, policy = :policy::jsonb, tags = :tags, max_runs = :max_runs, slots_after = :slots_after, ends_at = :ends_at,
    state = :state, reason = :reason, failures_in_row = failures_in_row + :more_failures, last_error = coalesce(:last_error, last_error), updated_at = :now::timestamptz, version = version + 1, ended = false,
    deleted_at = case when :deleted_from::text is not null then :now::timestamptz end, deleted_from = :deleted_from::text::cronty.job_state
  where id = :id
  returning id
), zoned as (
  insert into cronty.zones (name, rules, version, changed_at)
  select :rule_zone, :rules, :tzdata, :now::timestamptz from job
  where :rule_zone::text is not null and not exists (select from cronty.zones z where z.name = :rule_zone and z.rules = :rules)
  on conflict (name) do update set through = least(zones.through, (select id - 1 from job))
)
update cronty.due d
set next_at = :next_slot::timestamptz + make_interval(secs => :delay::int), delay = :delay::int, held_slot = :held_slot, last_slot = :last_slot, last_through = coalesce(:last_through, d.last_through), serial = :serial,
  period = :period, expression = :expression, zone = :rule_zone, dst_gap = :dst_gap, dst_overlap = :dst_overlap,
  urgent = (select true from cronty.tasks t where t.name = :task and t.settings ->> 'priority' = 'urgent')
from job
where d.job_id = job.id
returning case when :next_slot::timestamptz < :now::timestamptz + interval '30 seconds'
  then pg_notify('cronty', 'due ' || extract(epoch from :next_slot::timestamptz)) end
