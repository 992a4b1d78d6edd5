-- Slots of these jobs that ntfy has sent. $1 jobs, $2 now. Each looked up by its key, whatever the statistics say.
select v.job_id, v.scheduled_for
from unnest($1::bigint[]) u(job_id)
cross join lateral (select * from cronty.delivered v where v.job_id = u.job_id and v.scheduled_for <= $2 offset 0) v
