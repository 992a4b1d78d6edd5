-- Hand the oldest waiting prompts of an owner to an agent; they are shown again when the lease expires.
-- $1 now, $2 owner, $3 which agent asks (null: none, who gets only what is for anyone), $4 how many, $5 lease in seconds,
-- $6 only prompts that could be read for so many seconds (null: for however long).
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), picked as (
  select q.job_id, q.scheduled_for
  from cronty.queue q
  join cronty.jobs j on j.id = q.job_id
  where q.task = 'prompt' and q.owner_id = (select id from cronty.owners where name = $2)
    and q.due_at <= (select now from clock)
    and q.due_at > coalesce((select now from clock) - $6::float8 * interval '1 second', '-infinity')
    and q.due_at > (select now from clock) - cronty.expires_after(j.policy) * interval '1 second' -- else it has expired
    and (j.arguments -> 'kwargs' ->> 'agent' is null or j.arguments -> 'kwargs' ->> 'agent' = $3::text)
  order by q.due_at, q.job_id
  limit $4
  for update of q skip locked
), held as (
  update cronty.queue q
  set due_at = c.now + $5::float8 * interval '1 second'
  from picked p, clock c
  where q.job_id = p.job_id and q.scheduled_for = p.scheduled_for
)
update cronty.runs r
set attempt = r.attempt + 1, started_at = c.now
from picked p
join cronty.jobs j on j.id = p.job_id
left join lateral (
  select b.scheduled_for from cronty.runs b
  where b.job_id = p.job_id and b.scheduled_for < p.scheduled_for and b.attempt > 0
  order by b.scheduled_for desc
  limit 1
) before on true, clock c
where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for
returning j.number as job_number, r.scheduled_for, r.attempt, r.manual, j.name, j.zone, j.created_at, j.arguments::text,
  j.origin::text, $2 as owner, before.scheduled_for as previous_slot, c.now, c.now + $5::float8 * interval '1 second' as lease_until
