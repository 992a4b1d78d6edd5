-- Waiting runs of a job get its new task.
update cronty.queue set task = $2 where job_id = $1
