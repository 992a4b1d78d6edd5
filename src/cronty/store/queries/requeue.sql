-- A run that waits does what its job says when it is performed.
update cronty.queue set task = $2 where job_id = $1
