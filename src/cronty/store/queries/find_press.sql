-- A reminder and what was pressed under it. $1 now, $2 its job, $3 its slot.
select j.number, j.name, j.arguments::text, p.act, p.until, coalesce($1::timestamptz, statement_timestamp()) as now
from cronty.jobs j
left join cronty.presses p on p.job_id = j.id and p.scheduled_for = $3
where j.id = $2 and j.task = 'notify' and j.deleted_at is null
