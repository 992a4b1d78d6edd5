-- An owner's jobs whose next slot lies before $2, those that fire first, at most $3. `remaining` is null if there is no
-- limit.
select j.owner_id, j.number, j.name, j.task, j.trigger::text as trigger_json, p.next_slot, j.ends_at, j.max_runs - p.fired as remaining
from (
  -- Few columns on purpose: the large ones are fetched only for the jobs that are returned.
  select j.id, j.number, d.next_slot, d.fired
  from cronty.jobs j
  cross join lateral (
    select d.next_at - make_interval(secs => d.delay) as next_slot, d.run_count - d.manual_count as fired
    from cronty.due d
    where d.job_id = j.id
    offset 0
  ) d
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null and not j.ended
    and d.next_slot < $2
  order by d.next_slot, j.number
  limit $3
) p
cross join lateral (select * from cronty.jobs j where j.id = p.id offset 0) j
order by p.next_slot, p.number
