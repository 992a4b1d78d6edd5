-- An owner's runs of one job, newest first. $2 the job's number, $3 how many, $4 only older than this, $5 in this state.
select $2::bigint as job_number, r.scheduled_for, r.state::text, r.attempt, r.slots, r.through, r.manual, r.started_at, r.finished_at, r.reason,
  r.error, r.result::text, r.backfilled::text, q.due_at as next_attempt_at
from cronty.runs r
left join cronty.queue q on q.job_id = r.job_id and q.scheduled_for = r.scheduled_for
where r.job_id = (
    select j.id from cronty.jobs j
    where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2 and j.deleted_at is null)
  and r.scheduled_for < coalesce($4::timestamptz, 'infinity')
  and ($5::text is null or r.state = $5::cronty.run_state)
order by r.scheduled_for desc
limit $3
