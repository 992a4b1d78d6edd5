-- Lock what is due. $1 now (null: the database's clock), $2 nothing due is older than this, $3 how many, $4 owners to
-- leave out, $5 zones to leave to workers with newer rules.
-- The lower bound spares every poll the dead left edge of the index. The limit of 1 keeps the look at the run under way
-- a look by key, also in a plan that was made while the table was empty.
select p.now, p.job_id, p.owner_id, p.next_at, p.delay, p.period, p.expression, p.zone, p.dst_gap, p.dst_overlap, p.run_count - p.manual_count as executed, j.max_runs, j.ends_at,
  j.task, j.arguments::text, j.policy::text, j.last_error is not null as failing, (select cronty.epoch()) as epoch, r.scheduled_for as in_flight,
  j.number as job_number
from (
  select coalesce($1::timestamptz, statement_timestamp()) as now, *
  from cronty.due
  where next_at <= coalesce($1::timestamptz, statement_timestamp())
    and next_at >= coalesce($2::timestamptz, '-infinity')
    and owner_id <> all($4::bigint[])
    and (zone is null or zone <> all($5::text[]))
  order by next_at
  limit $3
  for update skip locked
) p
join cronty.jobs j on j.id = p.job_id
left join lateral (
  select r.scheduled_for from cronty.runs r
  where p.serial and r.job_id = p.job_id and r.scheduled_for = p.last_run and r.state in ('waiting', 'running')
  limit 1
) r on true
