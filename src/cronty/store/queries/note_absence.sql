-- Add slots that passed while nothing was running to what their owners will be told. $1 now; for each job: $2 owner, $3 job,
-- $4 its first such slot, and how many of them $5 run late, $6 are coalesced, $7 are missed.
insert into cronty.absences as a (owner_id, since, until, late, coalesced, missed, late_jobs, missed_jobs)
select u.owner_id, min(u.slot), $1, sum(u.late), sum(u.coalesced), sum(u.missed),
  coalesce((array_agg(u.job_id order by u.slot) filter (where u.late > 0))[1:5], '{}'),
  coalesce((array_agg(u.job_id order by u.slot) filter (where u.missed > 0))[1:5], '{}')
from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::int[], $6::int[], $7::int[])
  u(owner_id, job_id, slot, late, coalesced, missed)
group by u.owner_id
order by u.owner_id
on conflict (owner_id) do update
set since = least(a.since, excluded.since), until = excluded.until, late = a.late + excluded.late,
  coalesced = a.coalesced + excluded.coalesced, missed = a.missed + excluded.missed,
  late_jobs = (a.late_jobs || excluded.late_jobs)[1:5], missed_jobs = (a.missed_jobs || excluded.missed_jobs)[1:5]
