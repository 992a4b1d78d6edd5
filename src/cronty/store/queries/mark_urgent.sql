-- Note in the jobs after $1, up to $2 of them, whether their task is urgent: $3 tasks, $4 those of them that are. Returns the last
-- of these jobs, null after the end.
with page as materialized (
  select j.id, j.task, case when j.task = any($4::text[]) then true end as urgent
  from cronty.jobs j where j.id > $1 order by j.id limit $2
), marked as (
  update cronty.due d
  set urgent = p.urgent
  from page p
  where d.job_id = p.id and p.task = any($3::text[]) and d.urgent is distinct from p.urgent
)
select max(id) from page
