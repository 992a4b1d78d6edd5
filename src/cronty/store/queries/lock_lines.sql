-- Lock the due rows of those of these jobs that have runs in line: every change of a line needs that lock.
select d.job_id
from (select distinct q.job_id from cronty.queue q where q.due_at is null and q.job_id = any($1::bigint[])) l
join cronty.due d on d.job_id = l.job_id
order by d.job_id
for update of d
