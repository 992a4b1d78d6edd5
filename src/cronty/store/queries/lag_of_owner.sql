-- How long after their time an owner's slots started, at their first attempt, by bins. $1 owner, $2 from, $3 until,
-- $4 the width of a bin.
select date_bin($4, r.scheduled_for, $2) as start,
  percentile_disc(array[0.5, 0.99]) within group (
    order by greatest(0, extract(epoch from r.started_at - r.scheduled_for)::float8 - d.delay)) as lags
from cronty.runs r
join cronty.due d on d.job_id = r.job_id
where r.owner_id = (select id from cronty.owners where name = $1) and r.scheduled_for >= $2 and r.scheduled_for < $3
  and r.attempt = 1 and r.started_at is not null and not r.manual
group by 1
