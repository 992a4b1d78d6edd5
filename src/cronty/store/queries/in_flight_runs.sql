select r.scheduled_for from cronty.runs r where r.owner_id = (select owner_id from cronty.due where job_id = $1) and r.job_id = $1 and r.state = 'running'
union
select q.scheduled_for from cronty.queue q where q.job_id = $1
