-- What is known about a run apart from its arguments. A reminder is a notification that isn't our own alert. `handed_at`
-- is since when ntfy had it, if it has sent it. `handed` is the message that ntfy may have of it and nobody is taking back: what is sent under
-- its id replaces it. `pressed` is the button that settled it. $1 now, $2 its owner, $3 its job, $4 its slot.
select j.number as job_number, o.name as owner, j.name, j.zone, j.created_at, j.origin::text, r.scheduled_for, r.manual,
  j.task = 'notify' and coalesce(j.origin->>'surface', '') <> 'cronty' as reminder,
  (select h.handed_at from cronty.delivered h where h.job_id = r.job_id and h.scheduled_for = r.scheduled_for) as handed_at,
  (select h.id from cronty.handed_over h
    where h.job_id = r.job_id and h.scheduled_for = r.scheduled_for and h.there and not h.recalled
    order by h.id desc limit 1) as handed,
  (select p.act from cronty.presses p where p.job_id = r.job_id and p.scheduled_for = r.scheduled_for) as pressed,
  coalesce($1::timestamptz, statement_timestamp()) as now,
  (select b.scheduled_for from cronty.runs b
    where b.job_id = r.job_id and b.scheduled_for < r.scheduled_for and b.attempt > 0
    order by b.scheduled_for desc limit 1) as previous_slot
from cronty.runs r
join cronty.jobs j on j.id = r.job_id
join cronty.owners o on o.id = j.owner_id
where r.owner_id = $2 and r.job_id = $3 and r.scheduled_for = $4
