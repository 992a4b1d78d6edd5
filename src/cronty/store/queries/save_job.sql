-- Write back a job that is locked; a settlement may count its failures meanwhile, so those are only added to.
-- $15 the state it is deleted from (null: it isn't deleted), $17 its next slot, $18 the one that is held, $19 the last one with a row.
with job as (
  update cronty.jobs
  set name = $2, task = $3, arguments = $4::jsonb, trigger = $5::jsonb, zone = $26, policy = $6::jsonb, tags = $7, max_runs = $8, slots_after = $29, ends_at = $9,
    state = $10, reason = $11, failures_in_row = failures_in_row + $12, last_error = coalesce($13, last_error), updated_at = $14::timestamptz, version = version + 1, ended = false,
    deleted_at = case when $15::text is not null then $14::timestamptz end, deleted_from = $15::text::cronty.job_state
  where id = $1
  returning id
), zoned as (
  insert into cronty.zones (name, rules, version, changed_at)
  select $23, $27, $28, $14::timestamptz from job
  where $23::text is not null and not exists (select from cronty.zones z where z.name = $23 and z.rules = $27)
  on conflict (name) do update set through = least(zones.through, (select id - 1 from job))
)
update cronty.due d
set next_at = $17::timestamptz + make_interval(secs => $16::int), delay = $16::int, held_slot = $18, last_slot = $19, serial = $20,
  period = $21, expression = $22, zone = $23, dst_gap = $24, dst_overlap = $25
from job
where d.job_id = job.id
returning case when $17::timestamptz < $14::timestamptz + interval '30 seconds'
  then pg_notify('cronty', 'due ' || extract(epoch from $17::timestamptz)) end
