-- An owner's prompts that wait for an agent, oldest slot first; they aren't leased. $1 now, $2 owner, $3 how many,
-- $4 and $5 the slot and the job's number of the last one before the page (null: from the start), $6 whose (null: any).
select j.number as job_number, r.scheduled_for, r.attempt, r.manual, j.name, j.zone, j.created_at, j.arguments::text, j.origin::text,
  $2::text as owner, null::timestamptz as previous_slot, c.now, q.due_at as lease_until
from (select coalesce($1::timestamptz, statement_timestamp()) as now) c
join cronty.queue q on q.task = 'prompt' and q.owner_id = (select id from cronty.owners where name = $2)
  and q.due_at is not null
cross join lateral (
  select * from cronty.runs r where r.job_id = q.job_id and r.scheduled_for = q.scheduled_for offset 0
) r
cross join lateral (select * from cronty.jobs j where j.id = q.job_id offset 0) j
where ($4::timestamptz is null or (q.scheduled_for, j.number) > ($4, $5::bigint))
  and ($6::text is null or coalesce(j.arguments -> 'kwargs' ->> 'agent', $6) = $6)
order by q.scheduled_for, j.number
limit $3
