-- A run of an owner. $2 the job's number, $3 the slot.
select r.job_id, r.owner_id, r.state::text
from cronty.jobs j
join cronty.runs r on r.job_id = j.id and r.scheduled_for = $3
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2 and j.deleted_at is null
