-- One page of an owner's jobs, those that will fire first, in that order. On the first page also the number of all that
-- match, at most $13. $2 status, $3 name, $4 tag, $5 task, $6 and $7 fire time, inclusive, $8 how many, $9 to $11 the last
-- row before the page, $12 the topic of a notification.
with running as materialized (
  select r.job_id from cronty.runs r
  where r.owner_id = (select id from cronty.owners where name = $1) and r.state = 'running'
), matching as materialized (
  -- Narrow on purpose: the wide parts of a job are fetched for the page only. `offset 0` and `limit 1` keep the planner
  -- from going through everybody's jobs or queue instead.
  select j.id, j.number, d.next_at is null as idle, coalesce(d.fire_at, 'infinity') as place
  from cronty.jobs j
  cross join lateral (
    select d.next_at, coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot, d.last_slot) as fire_at
    from cronty.due d
    where d.job_id = j.id
    offset 0
  ) d
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
    and ($2::text is null or $2 = cronty.job_status(j.state,
      j.id in (select job_id from running) or coalesce((select true from cronty.queue q where q.job_id = j.id limit 1), false),
      d.next_at is not null, j.failures_in_row > 0))
    and ($3::text is null or position(lower($3) in lower(j.name)) > 0)
    and ($4::text is null or $4 = any(j.tags))
    and ($5::text is null or $5 = j.task or ($5 = 'prompt' and starts_with(j.task, 'prompt:')))
    and ($12::text is null or $12 = j.arguments -> 'kwargs' ->> 'topic')
    and ($6::timestamptz is null or d.fire_at >= $6)
    and ($7::timestamptz is null or d.fire_at <= $7)
)
select c.total, v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json,
  case when v.id in (select job_id from running) then (
      select count(*) from cronty.runs r where r.owner_id = v.owner_id and r.job_id = v.id and r.state = 'running') else 0 end
    + (select count(*) from cronty.queue q where q.job_id = v.id) as in_flight
from (
  select case when $9::boolean is null then (select count(*) from (select from matching limit $13) m) end as total
) c
left join lateral (
  select * from matching
  where $9 is null or (idle, place, number) > ($9, $10::timestamptz, $11::bigint)
  order by idle, place, number
  limit $8
) p on true
left join lateral (select * from cronty.job_overview v where v.id = p.id offset 0) v on true
order by p.idle, p.place, p.number
