-- How many slots of an owner's job got which verdict, by days of a zone. $1 owner, $2 the job's number, $3 zone, $4 from.
select (r.scheduled_for at time zone $3)::date as day, r.state::text as verdict, sum(r.slots)::bigint as slots
from cronty.runs r
where r.job_id = (select j.id from cronty.jobs j join cronty.owners o on o.id = j.owner_id where o.name = $1 and j.number = $2)
  and r.scheduled_for >= $4
group by 1, 2
