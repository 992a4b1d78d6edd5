-- Lock the due rows of those of these jobs that have a line. The due row first, as every change of a job's turn locks it.
select d.job_id
from (select distinct q.job_id from cronty.queue q where q.due_at is null and q.job_id = any($1::bigint[])) l
join cronty.due d on d.job_id = l.job_id
order by d.job_id
for update of d
