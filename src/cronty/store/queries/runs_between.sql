-- The rows of a job from $2 through $3, in order, and the one before that may reach into them.
select r.scheduled_for, r.through, r.slots, r.followed_by, r.state::text, r.reason, r.finished_at
from cronty.runs r
where r.job_id = $1 and r.scheduled_for >= coalesce((
    select p.scheduled_for from cronty.runs p
    where p.job_id = $1 and p.scheduled_for < $2 and not p.manual
    order by p.scheduled_for desc
    limit 1), $2)
  and r.scheduled_for <= $3
order by r.scheduled_for
