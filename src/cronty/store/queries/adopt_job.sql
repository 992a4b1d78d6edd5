-- Whoever changes a job or lets it go on answers for it from now on. $1 the job, $2 their key.
update cronty.jobs set key_id = $2 where id = $1 and key_id is distinct from $2
