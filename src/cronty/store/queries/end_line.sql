-- A job whose runs may overlap from now on has no line any more. $1 the job, $2 now.
update cronty.queue set due_at = $2 where job_id = $1 and due_at is null
