-- Lock a job, one that isn't deleted or ($3) one that is. Its due row is locked first, as the engine does, so that a fire
-- and a change can't happen at once.
select d.job_id, j.origin::text
from cronty.due d
join cronty.jobs j on j.id = d.job_id
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2 and (j.deleted_at is not null) = $3
for update of d
