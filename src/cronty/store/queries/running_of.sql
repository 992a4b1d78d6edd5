-- The runs that the database lists as a worker's.
select job_id, scheduled_for, attempt from cronty.runs where state = 'running' and worker = $1
