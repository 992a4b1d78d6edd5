-- A job that was changed or resumed depends on the key that did it. $1 the job, $2 the key, $3 where it comes from now (null:
-- as before).
update cronty.jobs set key_id = $2, origin = coalesce($3::jsonb, origin)
where id = $1 and (key_id is distinct from $2 or $3::jsonb is distinct from origin)
