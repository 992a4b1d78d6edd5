-- Release all runs in line of a job whose runs may overlap from now on. $1 the job, $2 now.
update cronty.queue set due_at = $2 where job_id = $1 and due_at is null
