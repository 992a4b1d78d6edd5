-- Count an owner's jobs that will still run, and the size of their arguments and rules, of those of deleted jobs, which are still
-- there, and of the owner's lists of days off. $1 owner, $2 now. Jobs that have ended are marked, so that the next count skips them; not those that were changed meanwhile or are locked.
with looked as materialized (
  select j.id, j.version, pg_column_size(j.arguments) + pg_column_size(j.trigger) as size,
    j.state in ('paused', 'set_aside') or (j.state = 'active' and d.next_at is not null) as live
  from cronty.jobs j
  cross join lateral (select d.next_at from cronty.due d where d.job_id = j.id offset 0) d
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null and not j.ended
), over as materialized (
  select l.id from (select * from looked where not live limit 10000) l
  cross join lateral (
    select from cronty.jobs j where j.id = l.id and j.version = l.version for no key update skip locked
  ) held
), marked as (
  -- Not by an array of the ids: made of rows that the same statement locks, it crashes PostgreSQL (18.4) if one of them has
  -- just been changed.
  update cronty.jobs j set ended = true from over o where j.id = o.id
)
update cronty.owners o
set live_jobs = c.jobs, live_bytes = c.bytes, counted_at = coalesce($2::timestamptz, statement_timestamp())
from (
  select count(*) as jobs, coalesce(sum(size), 0) + (
    select coalesce(sum(pg_column_size(l.days)), 0) from cronty.calendars l
    where l.owner_id = (select id from cronty.owners where name = $1)) + (
    select coalesce(sum(pg_column_size(j.arguments) + pg_column_size(j.trigger)), 0) from cronty.jobs j
    where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is not null) as bytes
  from looked where live
) c
where o.name = $1
returning o.live_jobs as jobs, o.live_bytes as bytes
