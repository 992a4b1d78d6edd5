-- An owner's failed runs over all jobs, the latest first. $1 owner, $2 how many, $3 to $5 where the previous page ended: its
-- last run's end, job number and slot (null: the first page), $6 the agent that asks: of prompts for others it gets no words.
select j.number as job_number, r.scheduled_for, r.state::text, r.attempt, r.slots, r.through, r.manual, r.started_at, r.finished_at, r.reason,
  case when not j.anothers then r.error end as error, case when not j.anothers then r.result::text end as result, r.backfilled::text, null::timestamptz as next_attempt_at, j.name, j.zone, j.created_at, j.task
from cronty.runs r
cross join lateral (
  select j.*, cronty.is_anothers($6, j.task, j.arguments, j.origin) as anothers from cronty.jobs j where j.id = r.job_id offset 0
) j
where r.owner_id = (select id from cronty.owners where name = $1) and r.state in ('failed', 'quarantined')
  and r.finished_at <= coalesce($3::timestamptz, 'infinity') and j.deleted_at is null
  and ($3::timestamptz is null
    or (r.finished_at, j.number, r.scheduled_for) < ($3::timestamptz, $4::bigint, coalesce($5::timestamptz, '-infinity')))
order by r.finished_at desc, j.number desc, r.scheduled_for desc
limit $2
