-- One page of an owner's jobs, in the order in which they fire. On the first page also the number of all that
-- match, at most :most_counted. :since and :until are fire times, inclusive; :idle, :fire_at and :number are the last row
-- of the page before; :topic is a notification's. :name is a part of the name, :words of the name or of what the job
-- says, but not what it says to another agent than :agent;
-- :health is one of the words of `count_jobs`.
with running as materialized (
  select r.job_id from cronty.runs r
  where r.owner_id = (select id from cronty.owners where name = :owner) and r.state = 'running'
), matching as materialized (
  -- Few columns on purpose: the large ones are fetched for the page only. `offset 0` and `limit 1` keep the planner from
  -- going through the jobs or the queue of all owners instead.
  select j.id, j.number, d.next_at is null as idle, coalesce(d.fire_at, 'infinity') as place
  from cronty.jobs j
  cross join lateral (
    select d.next_at, coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot, d.last_slot) as fire_at
    from cronty.due d
    where d.job_id = j.id
    offset 0
  ) d
  where j.owner_id = (select id from cronty.owners where name = :owner) and j.deleted_at is null
    and (:status::text is null or :status = cronty.job_status(j.state,
      j.id in (select job_id from running) or coalesce((select true from cronty.queue q where q.job_id = j.id limit 1), false),
      d.next_at is not null, j.failures_in_row > 0))
    and (:name::text is null or position(lower(:name) in lower(j.name)) > 0)
    and (:words::text is null or position(lower(:words) in lower(j.name)) > 0 or (
      not cronty.is_anothers(:agent::text, j.task, j.arguments, j.origin)
      and position(lower(:words) in lower(concat_ws(' ', j.arguments -> 'kwargs' ->> 'prompt',
        j.arguments -> 'kwargs' ->> 'message', j.arguments -> 'kwargs' ->> 'name', j.arguments -> 'kwargs' ->> 'url'))) > 0))
    and (:health::text is null or case :health
      when 'failing' then j.state = 'set_aside' or (j.state = 'active' and (j.failures_in_row > 0
        or (select cronty.retry_error(q.job_id) from cronty.queue q where q.job_id = j.id limit 1) is not null))
      when 'waiting' then coalesce((
        select true from cronty.queue q where q.job_id = j.id and q.task = 'prompt' and q.due_at is not null limit 1), false)
      when 'paused' then j.state = 'paused'
      when 'finished' then j.state = 'cancelled' or (j.state = 'active' and d.next_at is null) end)
    and (:tag::text is null or :tag = any(j.tags))
    and (:task::text is null or :task = j.task or (:task = 'prompt' and starts_with(j.task, 'prompt:')))
    and (:topic::text is null or :topic = j.arguments -> 'kwargs' ->> 'topic')
    and (:since::timestamptz is null or d.fire_at >= :since)
    and (:until::timestamptz is null or d.fire_at <= :until)
)
select c.total, v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json,
  case when v.id in (select job_id from running) then (
      select count(*) from cronty.runs r where r.owner_id = v.owner_id and r.job_id = v.id and r.state = 'running') else 0 end
    + (select count(*) from cronty.queue q where q.job_id = v.id) as in_flight,
  cronty.retry_error(v.id) as retry_error, cronty.untaken_since(v.id, :now::timestamptz) as untaken_since
from (
  select case when :idle::boolean is null then (select count(*) from (select from matching limit :most_counted) m) end as total
) c
left join lateral (
  select * from matching
  where :idle is null or (idle, place, number) > (:idle, :fire_at::timestamptz, :number::bigint)
  order by idle, place, number
  limit :rows
) p on true
left join lateral (select * from cronty.job_overview v where v.id = p.id offset 0) v on true
order by p.idle, p.place, p.number
