-- What is under way, and what was started within the last minute, under limits that are locked. $1 now, $2 names, $3 for each
-- a time before which nothing is under way (null: unknown): it spares the dead entries of the index.
-- Starts whose run has ended are forgotten, or kept for a minute where they count for that long. `first` is the first of the
-- starts that fill the minute, `owners` are those of what is under way, or of the minute.
with held as materialized (
  select s.limit_name, s.place, s.owner_id, s.started_at, l.per_minute is not null as counted, coalesce(r.running, false) as running
  from unnest($2::text[], $3::timestamptz[]) u(name, low)
  cross join lateral (select per_minute from cronty.task_limits where name = u.name limit 1) l
  cross join lateral (
    select *, ctid as place from cronty.starts
    where limit_name = u.name and not ended and started_at >= coalesce(u.low, '-infinity')
    offset 0
  ) s
  left join lateral (
    select r.state = 'running' and r.attempt = s.attempt as running from cronty.runs r
    where r.job_id = s.job_id and r.scheduled_for = s.scheduled_for
    limit 1
  ) r on true
), ended as (
  update cronty.starts s set ended = true from held h where s.ctid = h.place and h.counted and not h.running
), gone as (
  delete from cronty.starts s using held h where s.ctid = h.place and not h.counted and not h.running
), old as (
  delete from cronty.starts s
  where s.limit_name = any($2::text[]) and s.ended
    and s.started_at <= coalesce($1::timestamptz, statement_timestamp()) - interval '1 minute'
    and s.started_at > coalesce($1::timestamptz, statement_timestamp()) - interval '10 minutes'
)
select n.now, l.name, l.at_once, l.per_minute, l.held_until, h.running, h.oldest, m.starts, m.first,
  case when l.at_once is null then m.owners else h.owners end as owners
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
cross join unnest($2::text[]) u(name)
cross join lateral (select * from cronty.task_limits where name = u.name limit 1) l
cross join lateral (
  select count(*)::int as running, min(started_at) as oldest, coalesce(array_agg(owner_id), '{}') as owners
  from held where limit_name = l.name and running
) h
cross join lateral (
  select count(*)::int as starts, min(s.started_at) as first, coalesce(array_agg(s.owner_id), '{}') as owners
  from (
    select started_at, owner_id from cronty.starts
    where limit_name = l.name and started_at > n.now - interval '1 minute' and l.per_minute is not null
    order by started_at desc
    limit coalesce(l.per_minute, 0)
  ) s
) m
