-- Verdicts of all owners by bins, and how late first attempts started. $1 from, $2 until, $3 the width of a bin, $4 how many
-- runs of a bin are looked at. Runs whose slot is over eight days old are left out, so that their weekly partitions aren't read.
select b.start, r.state::text as verdict, sum(r.slots)::bigint as slots,
  percentile_disc(array[0.5, 0.99]) within group (order by greatest(0, r.late - d.delay))
    filter (where r.late is not null) as lags
from generate_series($1::timestamptz, $2::timestamptz - interval '1 microsecond', $3) b(start)
cross join lateral (
  select r.job_id, r.state, r.slots,
    case when r.attempt = 1 and not r.manual and r.backfilled is null then extract(epoch from r.started_at - r.scheduled_for)::float8 end as late
  from cronty.runs r
  where r.finished_at >= b.start and r.finished_at < least(b.start + $3, $2)
    and r.scheduled_for > $1 - interval '8 days' and r.scheduled_for < $2
  limit $4
) r
left join lateral (select d.delay from cronty.due d where d.job_id = r.job_id and r.late is not null offset 0) d on true
group by 1, 2
