-- The safety net under `release_behind`: whatever waits behind a run that is no longer in flight.
update cronty.queue q
set due_at = coalesce($1::timestamptz, statement_timestamp()), behind = null
where q.due_at is null
  and not exists (
    select from cronty.runs r
    where r.job_id = q.job_id and r.scheduled_for = q.behind and r.finished_at is null)
returning 1
