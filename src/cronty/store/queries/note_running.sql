-- These tasks ($2) have new limits: what they have under way counts from now on, and what other tasks have that share one. $1 now.
insert into cronty.starts (limit_name, job_id, scheduled_for, attempt, owner_id, started_at, ended)
select l.name, r.job_id, r.scheduled_for, r.attempt, r.owner_id, coalesce($1::timestamptz, statement_timestamp()), false
from cronty.runs r
join cronty.jobs j on j.id = r.job_id
join cronty.tasks t on t.name = j.task
cross join lateral jsonb_object_keys(coalesce(t.settings -> 'limits', '{}')) k(name)
join cronty.task_limits l on l.name = k.name and l.at_once is not null
where r.state = 'running' and k.name in (
  select jsonb_object_keys(coalesce(s.settings -> 'limits', '{}')) from cronty.tasks s where s.name = any($2::text[]))
on conflict (limit_name, job_id, scheduled_for, attempt) do update
  set ended = false, started_at = case when starts.ended then excluded.started_at else starts.started_at end
