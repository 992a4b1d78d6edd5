-- A page of the owners, by name after $1, at most $2, each with what it has and uses; runs are counted up to $3, those that
-- started only of its latest $4 jobs. $5 the moment, $6 how many overdue jobs of all owners are looked at, $7 what is counted by
-- the minute. Each look uses an index, whatever the statistics say: `offset 0` keeps them apart.
with clock as materialized (
  select coalesce($5::timestamptz, statement_timestamp()) as now
), late as materialized (
  select d.owner_id, count(*)::int as overdue, min(d.next_at) as since
  from (
    select d.owner_id, d.next_at from cronty.due d, clock c where d.next_at < c.now - interval '5 seconds' order by d.next_at limit $6
  ) d
  group by d.owner_id
)
select o.name, o.live_jobs + r.jobs as live_jobs, (o.live_bytes + r.bytes)::bigint as live_bytes, o.limits::text, o.erasing_since, o.created_at,
  (select count(*) from (
    select from cronty.runs r where r.owner_id = o.id and r.state = 'running' limit $3
  ) r)::int as running,
  (select count(*) from (
    select from cronty.runs r
    where r.owner_id = o.id and r.state in ('failed', 'quarantined') and r.finished_at > c.now - interval '1 day'
    limit $3
  ) r)::int as failed,
  started.in_hour, started.in_day,
  coalesce(l.overdue, 0) as overdue, l.since as oldest_overdue,
  (select json_object_agg(u.what, u.used) from (
    select u.what, sum(u.used)::bigint as used from cronty.usage u
    where u.owner_id = o.id and u.since >= date_trunc('day', c.now, 'UTC')
      and u.since >= date_trunc(case when u.what = $7 then 'minute' when u.what = 'pushes' then 'day' else 'hour' end, c.now, 'UTC')
    group by u.what
    order by 2 desc
    limit 200
  ) u)::text as used
from clock c
cross join lateral (select * from cronty.owners o where o.name > $1 order by o.name limit $2) o
cross join lateral ( -- those made since the last count, as in `standing`
  select count(*)::int as jobs, coalesce(sum(x.size), 0) as bytes
  from (
    select pg_column_size(j.arguments) + pg_column_size(j.trigger) as size from cronty.jobs j
    where j.owner_id = o.id and j.created_at >= o.counted_at and j.deleted_at is null and not j.ended
    order by j.created_at
    limit 2000
  ) x
) r
cross join lateral (
  select count(*) filter (where n.span = 'hour')::int as in_hour, count(*) filter (where n.span = 'day')::int as in_day
  from (values ('hour', interval '1 hour'), ('day', interval '1 day')) n(span, back)
  cross join lateral (
    select
    from (select j.id from cronty.jobs j where j.owner_id = o.id order by j.number desc limit (select $4::int)) j
    cross join lateral (
      select from cronty.runs r
      where r.job_id = j.id and r.scheduled_for > c.now - n.back and r.scheduled_for <= c.now and r.attempt > 0
      limit $3
    ) r
    limit $3
  ) r
) started
left join late l on l.owner_id = o.id
order by o.name
