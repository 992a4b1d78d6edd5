-- Park a job whose next slot can't be computed any more. Its slot stays visible as held.
with parked as (
  update cronty.due
  set held_slot = next_at - make_interval(secs => delay), next_at = null
  where job_id = $1
)
update cronty.jobs set state = 'set_aside', reason = $2, version = version + 1, updated_at = $3 where id = $1
