-- Lock the due rows of jobs that have runs in line and none running. Rows that are locked already are left to the next
-- call, so that no owner waits for another one's job. $1 how many.
select d.job_id
from cronty.due d
where d.job_id in (
    select q.job_id from cronty.queue q
    join cronty.due l on l.job_id = q.job_id
    left join lateral (
      select 1 as under_way from cronty.runs r
      where r.job_id = l.job_id and r.scheduled_for = l.last_run and r.finished_at is null
        and not exists (
          select from cronty.queue i where i.job_id = l.job_id and i.scheduled_for = l.last_run and i.due_at is null)
      limit 1
    ) r on true
    where q.due_at is null and r.under_way is null
    limit $1)
for update skip locked
