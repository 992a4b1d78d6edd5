-- One page of an owner's jobs and the number of all that match, those that will fire first, in that order.
-- $2 status, $3 name, $4 tag, $5 task, $6 and $7 fire time, inclusive, $8 how many, $9 to $11 the last row before the page,
-- $12 the topic of a notification.
with flying as materialized (
  select job_id, count(*) as runs
  from (
    select r.job_id from cronty.runs r
    where r.owner_id = (select id from cronty.owners where name = $1) and r.state = 'running'
    union all
    select q.job_id from cronty.queue q where q.owner_id = (select id from cronty.owners where name = $1)
  ) live
  group by job_id
), seen as (
  select v.*, coalesce(f.runs, 0) as in_flight, v.next_slot is null as idle, coalesce(v.fire_at, 'infinity') as place
  from cronty.job_overview v
  left join flying f on f.job_id = v.id
  where v.owner_id = (select id from cronty.owners where name = $1)
), matching as materialized (
  -- Narrow on purpose: the wide parts of a job are fetched for the page only.
  select id, number, in_flight, idle, place from seen
  where ($2::text is null or $2 = cronty.job_status(state, in_flight > 0, not idle, failures_in_row > 0))
    and ($3::text is null or position(lower($3) in lower(name)) > 0)
    and ($4::text is null or $4 = any(tags))
    and ($5::text is null or $5 = task or ($5 = 'prompt' and starts_with(task, 'prompt:')))
    and ($12::text is null or $12 = arguments -> 'kwargs' ->> 'topic')
    and ($6::timestamptz is null or fire_at >= $6)
    and ($7::timestamptz is null or fire_at <= $7)
)
select c.total, v.*, p.in_flight, v.arguments::text as arguments_json, v.trigger::text as trigger_json,
  v.policy::text as policy_json
from (select count(*) as total from matching) c
left join lateral (
  select * from matching
  where $9::boolean is null or (idle, place, number) > ($9, $10::timestamptz, $11::bigint)
  order by idle, place, number
  limit $8
) p on true
left join lateral (select * from cronty.job_overview where id = p.id) v on true
order by p.idle, p.place, p.number
