-- How late an owner's slots started, by their first attempt, by bins. $1 owner, $2 from, $3 until,
-- $4 the width of a bin. Only the latest 5,000 jobs are read; the subselect is as in `list_tags`.
select date_bin($4, r.scheduled_for, $2) as start,
  percentile_disc(array[0.5, 0.99]) within group (
    order by greatest(0, extract(epoch from r.started_at - r.scheduled_for)::float8 - d.delay)) as lags
from (
  select j.id from cronty.jobs j
  where j.owner_id = (select id from cronty.owners where name = $1)
  order by j.number desc
  limit (select 5000)
) j
cross join lateral (select d.delay from cronty.due d where d.job_id = j.id offset 0) d
cross join lateral (
  select r.scheduled_for, r.started_at from cronty.runs r
  where r.job_id = j.id and r.scheduled_for >= $2 and r.scheduled_for < $3
    and r.attempt = 1 and r.started_at is not null and not r.manual and r.backfilled is null
  offset 0
) r
group by 1
