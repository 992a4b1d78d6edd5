-- The running and waiting runs of these jobs.
select r.job_id, r.scheduled_for from cronty.due d
join cronty.runs r on r.owner_id = d.owner_id and r.job_id = d.job_id and r.state = 'running'
where d.job_id = any($1::bigint[])
union
select q.job_id, q.scheduled_for from cronty.queue q where q.job_id = any($1::bigint[])
