-- An owner's slots of a stretch of time, in order. $1 owner, $2 from, $3 until, $4 how many.
select j.number as job_number, j.name, r.scheduled_for, r.state::text as verdict, coalesce(r.reason, r.error) as reason, r.slots
from cronty.runs r
join cronty.jobs j on j.id = r.job_id
where r.owner_id = (select id from cronty.owners where name = $1)
  and r.scheduled_for >= $2 and r.scheduled_for < $3 and j.deleted_at is null
order by r.scheduled_for, j.number
limit $4
