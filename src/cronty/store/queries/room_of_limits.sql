-- What is under way under limits that are locked, and what began within the last minute. $1 now, $2 names, $3 for each a time
-- before which nothing is under way (null: unknown), as it was known in the epoch $4: it spares the dead entries of the index.
-- When the database has lost its latest history, what had ended may be under way again. The clock may have been set back: what
-- was under way less than a minute ago is looked at anyhow, and a start far ahead of time doesn't count.
-- A claimed run begins a little later, by the worker's own clock; that is known when it is settled. Until then a start counts for
-- a second longer. So there are never more within any minute, however late a busy worker begins.
-- Starts whose run has ended are forgotten, or kept for a minute where they count for that long. `again_at` is when the first of
-- the starts that fill the minute doesn't count any more, `owners` are those of what is under way, or of the minute.
with held as materialized (
  select s.limit_name, s.place, s.owner_id, s.started_at, l.per_minute is not null as counted, coalesce(r.running, false) as running,
    greatest(s.started_at, r.began, a.started_at) as began
  from unnest($2::text[], $3::timestamptz[]) u(name, low)
  cross join lateral (select at_once, per_minute from cronty.task_limits where name = u.name limit 1) l
  cross join lateral (
    select *, ctid as place from cronty.starts
    where limit_name = u.name and not ended and started_at >= case
      when l.at_once is null then coalesce($1::timestamptz, statement_timestamp()) - interval '61 seconds'
      else coalesce(case when (select cronty.epoch()) = $4::int then
        least(u.low, coalesce($1::timestamptz, statement_timestamp()) - interval '1 minute') end, '-infinity') end
    offset 0
  ) s
  left join lateral (
    select r.state = 'running' and r.attempt = s.attempt as running,
      case when r.attempt = s.attempt and r.finished_at is not null then r.started_at end as began
    from cronty.runs r
    where r.job_id = s.job_id and r.scheduled_for = s.scheduled_for
    limit 1
  ) r on true
  left join lateral (
    select a.started_at from cronty.attempts a
    where r.began is null and a.job_id = s.job_id and a.scheduled_for = s.scheduled_for and a.attempt = s.attempt
    limit 1
  ) a on true
), ended as (
  update cronty.starts s set ended = true, started_at = h.began from held h where s.ctid = h.place and h.counted and not h.running
), gone as (
  delete from cronty.starts s using held h where s.ctid = h.place and not h.counted and not h.running
), old as (
  delete from cronty.starts s
  where s.limit_name = any($2::text[]) and s.ended
    and s.started_at <= coalesce($1::timestamptz, statement_timestamp()) - interval '1 minute'
    and s.started_at > coalesce($1::timestamptz, statement_timestamp()) - interval '10 minutes'
)
select n.now, l.name, l.at_once, l.per_minute, l.held_until, h.running, h.oldest, (select cronty.epoch()) as epoch, m.starts, m.again_at,
  case when l.at_once is null then m.owners else h.owners end as owners
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
cross join unnest($2::text[]) u(name)
cross join lateral (select * from cronty.task_limits where name = u.name limit 1) l
cross join lateral (
  select count(*)::int as running, min(started_at) as oldest, coalesce(array_agg(owner_id), '{}') as owners
  from held where limit_name = l.name and running
) h
cross join lateral (
  select count(*)::int as starts, min(s.until) as again_at, coalesce(array_agg(s.owner_id), '{}') as owners
  from (
    select w.until, w.owner_id
    from (
      select started_at + interval '1 minute' as until, owner_id from cronty.starts
      where limit_name = l.name and ended and started_at > n.now - interval '1 minute'
      union all
      select case when running then started_at + interval '61 seconds' else began + interval '1 minute' end, owner_id
      from held where limit_name = l.name
    ) w
    where w.until > n.now and w.until < n.now + interval '3 minutes' and l.per_minute is not null
    order by w.until desc
    limit coalesce(l.per_minute, 0)
  ) s
) m
