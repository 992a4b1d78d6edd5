-- Verdicts of all owners by bins, and how late first attempts started. $1 from, $2 until, $3 the width of a bin.
select date_bin($3, r.finished_at, $1) as start, r.state::text as verdict, sum(r.slots)::bigint as slots,
  percentile_disc(array[0.5, 0.99]) within group (
    order by greatest(0, extract(epoch from r.started_at - r.scheduled_for)::float8 - d.delay))
    filter (where r.attempt = 1 and r.started_at is not null and not r.manual) as lags
from cronty.runs r
join cronty.due d on d.job_id = r.job_id
where r.finished_at >= $1 and r.finished_at < $2
group by 1, 2
