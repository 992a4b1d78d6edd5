-- The traceback of a run of an owner whose latest attempt failed. $1 owner, $2 the job's number, $3 slot.
select r.traceback
from cronty.jobs j
join cronty.runs r on r.job_id = j.id and r.scheduled_for = $3
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2 and r.state <> 'done'
