-- Lock the due rows of those of these jobs that have a line; all jobs with one if $1 is null. The due row first, as
-- every change of a job's turn locks it.
select d.job_id
from (
  select distinct q.job_id from cronty.queue q
  where q.due_at is null and ($1::bigint[] is null or q.job_id = any($1))
  order by q.job_id
  limit 1000
) l
join cronty.due d on d.job_id = l.job_id
order by d.job_id
for update of d
