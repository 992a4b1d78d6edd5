-- Jobs with slots that ntfy is given ahead of their time, after the job $2, at most $3, with their channel: only those of which ntfy is
-- to have nothing as they are now, or all if $7. $1 now, $4 seconds to look ahead, $5 seconds that are too near, $6 the usual limit of
-- runs an hour: an owner that has one is left out. From each channel to its owner's reminders, and from those to their slots, whatever
-- the statistics say: the others' jobs are far more.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), wanted as (
  select j.id, c.name as channel, c.key_id, c.sealed
  from clock k
  cross join cronty.channels c
  cross join lateral (
    select from cronty.owners o
    where o.id = c.owner_id and o.erasing_since is null
      and coalesce(case when jsonb_typeof(o.limits->'runs_per_hour') = 'number' then (o.limits->>'runs_per_hour')::numeric end, $6) = 0
    limit 1
  ) o
  cross join lateral (
    select j.id, j.version from cronty.jobs j
    where j.owner_id = c.owner_id and j.task = 'notify' and j.deleted_at is null and not j.ended and j.state = 'active'
      and j.arguments->'kwargs'->>'topic' = c.name and j.arguments->'args' = '[]'
    offset 0
  ) j
  cross join lateral (
    select d.next_at from cronty.due d
    where d.job_id = j.id and d.delay = 0
      and d.next_at > k.now + make_interval(secs => $5::float8) and d.next_at <= k.now + make_interval(secs => $4::float8)
    limit 1
  ) d
  where c.ahead and c.sealed is not null and j.id > $2
    and ($7 or (
      select true from cronty.handed_over h
      where h.job_id = j.id and h.scheduled_for >= d.next_at and h.state <> 'taking' and h.version = j.version and h.sealed = c.sealed
      limit 1) is null)
  order by j.id
  limit $3
)
select v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json, 0 as in_flight, null as retry_error, null::timestamptz as untaken_since,
  k.now, w.channel, w.key_id, w.sealed
from wanted w
cross join clock k
join cronty.every_job v on v.id = w.id
order by v.id
