-- How many of an owner's slots got which verdict, by bins. $1 owner, $2 from, $3 until, $4 the width of a bin.
select date_bin($4, r.scheduled_for, $2) as start, r.state::text as verdict, sum(r.slots)::bigint as slots
from cronty.runs r
where r.owner_id = (select id from cronty.owners where name = $1) and r.scheduled_for >= $2 and r.scheduled_for < $3
group by 1, 2
