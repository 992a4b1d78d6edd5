-- The attempts of one run of an owner that weren't its last. $1 owner, $2 the job's number, $3 slot.
select a.attempt, a.started_at, a.ended_at, a.outcome, a.error
from cronty.attempts a
where a.job_id = (select j.id from cronty.jobs j where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2)
  and a.scheduled_for = $3
order by a.attempt
