-- What a worker holds, as the database knows it.
select job_id, scheduled_for, attempt from cronty.runs where state = 'running' and worker = $1
