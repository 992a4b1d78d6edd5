-- The latest result of each of an owner's jobs among the runs since $2, the latest first; runs that had nothing to report are
-- left out, and so are those for other agents than $4 (null: none). $1 owner, $3 how many. Only the latest 5,000 jobs are read; the subselect is as in `list_tags`.
select j.number as job_number, j.name, j.task, case when starts_with(j.task, 'prompt')
    then coalesce(j.arguments -> 'kwargs' ->> 'agent', substr(j.task, 8)) else '' end as agent,
  p.scheduled_for, p.finished_at, left(p.said, 1200) as said, p.is_text
from (
  select j.id, r.*
  from (
    select j.id from cronty.jobs j
    where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
      and ($4::text is null or not cronty.is_anothers($4, j.task, j.arguments, j.origin))
    order by j.number desc
    limit (select 5000)
  ) j
  cross join lateral (
    select r.scheduled_for, r.finished_at, coalesce(r.result ->> 'report', r.result #>> '{}') as said,
      r.result ? 'report' or jsonb_typeof(r.result) = 'string' as is_text
    from cronty.runs r
    where r.job_id = j.id and r.scheduled_for >= $2 and r.state = 'done' and r.result is not null
      and r.result <> '{"quiet": true}'
    order by r.scheduled_for desc
    limit 1
  ) r
  order by r.is_text desc, r.finished_at desc
  limit $3
) p
cross join lateral (select j.number, j.name, j.task, j.arguments from cronty.jobs j where j.id = p.id offset 0) j
order by p.is_text desc, p.finished_at desc
