-- Count an owner's jobs with something to come, and what their arguments take up.
with mine as (
  select id from cronty.owners where name = $1
), live as (
  select count(*) as jobs, coalesce(sum(pg_column_size(j.arguments)), 0) as bytes
  from mine m
  join cronty.jobs j on j.owner_id = m.id and j.deleted_at is null
  join cronty.due d on d.job_id = j.id
  where j.state in ('paused', 'set_aside') or (j.state = 'active' and d.next_at is not null)
), latest as (
  select coalesce(max(j.id), 0) as id from mine m join cronty.jobs j on j.owner_id = m.id and j.deleted_at is null
)
update cronty.owners o set live_jobs = live.jobs, live_bytes = live.bytes, counted_through = latest.id
from live, latest
where o.name = $1
returning o.live_jobs as jobs, o.live_bytes as bytes
