-- Queue waiting runs, behind their predecessor if it is still in flight. Locking the predecessor makes this and its
-- settlement happen one after the other, so that a release can't be lost.
with ahead as (
  select r.job_id, r.scheduled_for
  from unnest($1::bigint[], $3::timestamptz[]) u(job_id, behind)
  join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.behind
  where r.state in ('waiting', 'running')
  for update of r
)
insert into cronty.queue (job_id, scheduled_for, behind, due_at, owner_id, task)
select u.job_id, u.slot, a.scheduled_for, case when a.job_id is null then $6::timestamptz end, u.owner_id, u.task
from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::text[]) u(job_id, slot, behind, owner_id, task)
left join ahead a on a.job_id = u.job_id and a.scheduled_for = u.behind
