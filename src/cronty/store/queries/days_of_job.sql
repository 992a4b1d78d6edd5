-- How many slots of an owner's job got which verdict, by days of a zone. $1 owner, $2 job, $3 zone, $4 from.
select (r.scheduled_for at time zone $3)::date as day, r.state::text as verdict, sum(r.slots)::bigint as slots
from cronty.runs r
where r.owner_id = (select id from cronty.owners where name = $1) and r.job_id = $2 and r.scheduled_for >= $4
group by 1, 2
