-- The same as `pick_due`, for jobs of urgent tasks alone; a test holds the two together.
select p.job_id, p.owner_id, p.next_at, p.delay, p.period, case when p.expression = 'calendar' then j.trigger::text else p.expression end as expression, p.zone, p.dst_gap, p.dst_overlap, p.run_count - p.manual_count as executed, j.max_runs, j.ends_at,
  j.task, j.arguments::text, j.policy::text, j.last_error is not null as failing, coalesce(r.scheduled_for, q.scheduled_for) as in_flight,
  j.number as job_number, (select cronty.epoch()) as epoch,
  (select (extract(epoch from coalesce($1::timestamptz, statement_timestamp())) * 1000000)::bigint) as microseconds
from (
  select *, ctid as place from cronty.due
  where urgent and next_at <= coalesce($1::timestamptz, statement_timestamp())
    and next_at >= coalesce($2::timestamptz, '-infinity')
    and owner_id <> all($4::bigint[])
    and (zone is null or zone <> all($5::text[]))
    and (select frozen_at is null from cronty.server where only_row)
  order by next_at
  limit $3
  for update skip locked
) p
cross join lateral (select from cronty.due where ctid = p.place limit 1) unchanged
join cronty.jobs j on j.id = p.job_id
left join lateral (
  select r.scheduled_for from cronty.runs r
  where p.serial and r.job_id = p.job_id and r.scheduled_for = p.last_run and r.state in ('waiting', 'running')
  limit 1
) r on true
left join lateral (
  select q.scheduled_for from cronty.queue q where p.serial and q.job_id = p.job_id order by q.scheduled_for limit 1
) q on true
