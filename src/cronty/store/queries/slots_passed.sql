-- An owner's past slots in a range of time, in order. $1 owner, $2 from, $3 until, $4 how many. If there are more, any of
-- them are returned: the caller shows counts instead.
select * from (
  select j.number as job_number, j.name, j.task, r.scheduled_for, r.verdict, r.reason, r.slots
  from cronty.jobs j
  cross join lateral (
    select r.scheduled_for, r.state::text as verdict, coalesce(r.reason, r.error) as reason, r.slots from cronty.runs r
    where r.job_id = j.id and r.scheduled_for >= $2 and r.scheduled_for < $3
    offset 0
  ) r
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
  limit $4
) passed
order by scheduled_for, job_number
