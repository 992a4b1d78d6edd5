-- The runs that this worker is asked to stop, why, and whether it still has them. $1 worker.
select s.job_id, s.scheduled_for, s.reason, r.worker is not distinct from $1 as held
from cronty.stop_requests s
left join cronty.runs r on r.job_id = s.job_id and r.scheduled_for = s.scheduled_for and r.state = 'running'
where s.worker = $1
