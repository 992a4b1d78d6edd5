-- The next jobs that have runs in line, in order, and for each whether its due row was locked because none is running. Rows
-- that are locked already are left to the next round, so that no owner waits for another one's job. $1 the last job of the
-- call before (0: from the start), $2 how many jobs. The index is read job by job, however many runs each has in line.
with recursive lines(job_id) as (
  (select q.job_id from cronty.queue q where q.due_at is null and q.job_id > $1::bigint order by q.job_id limit 1)
  union all
  select n.job_id
  from lines l
  cross join lateral (
    select q.job_id from cronty.queue q where q.due_at is null and q.job_id > l.job_id order by q.job_id limit 1
  ) n
)
select l.job_id, d.job_id is not null as locked
from (select job_id from lines limit $2) l
left join lateral (
  select d.job_id from cronty.due d
  where d.job_id = l.job_id
    and not exists (
      select from cronty.runs r
      where r.job_id = d.job_id and r.scheduled_for = d.last_run and r.finished_at is null
        and not exists (
          select from cronty.queue i where i.job_id = d.job_id and i.scheduled_for = d.last_run and i.due_at is null)
      offset 0)
  limit 1
  for update of d skip locked
) d on true
