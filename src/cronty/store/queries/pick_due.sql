-- Lock what is due. $1 now (null: the database's clock), $2 nothing due is older than this, $3 how many, $4 owners to
-- leave out, $5 zones to leave to workers with newer rules. Nothing is while the installation is frozen.
-- The lower bound spares every poll the dead left edge of the index. The limit of 1 keeps the look at the run under way
-- a look by key, also in a plan that was made while the table was empty. The moment is the same in all rows; as a number of
-- microseconds it costs a reader a tenth of what a time does.
-- A job that changed since this statement began is locked as it is now, while its runs would be seen as they were: it is left
-- to the next look, which comes at once.
select p.job_id, p.owner_id, p.next_at, p.delay, p.period, case when p.expression = 'calendar' then j.trigger::text else p.expression end as expression, p.zone, p.dst_gap, p.dst_overlap, p.run_count - p.manual_count as executed, j.max_runs, j.ends_at,
  j.task, j.arguments::text, j.policy::text, j.last_error is not null as failing, coalesce(r.scheduled_for, q.scheduled_for) as in_flight,
  j.number as job_number, (select cronty.epoch()) as epoch,
  (select (extract(epoch from coalesce($1::timestamptz, statement_timestamp())) * 1000000)::bigint) as microseconds
from (
  select *, ctid as place from cronty.due
  where next_at <= coalesce($1::timestamptz, statement_timestamp())
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
