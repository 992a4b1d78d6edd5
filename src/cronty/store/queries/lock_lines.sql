-- Lock the due rows of those of these jobs that have runs in line: every change of a line needs that lock. The limit of 1
-- makes each lookup read one run, however many are in line.
select d.job_id
from (
  select u.job_id
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select from cronty.queue where job_id = u.job_id and due_at is null limit 1) q
  order by u.job_id
) l
join cronty.due d on d.job_id = l.job_id
order by d.job_id
for update of d
