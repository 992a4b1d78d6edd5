-- An owner's jobs whose next slot lies before $2, those that fire first, at most $3 of them. `remaining` is null without
-- an end.
select v.number, v.name, v.trigger::text as trigger_json, v.next_slot, v.ends_at,
  v.max_runs - v.run_count + v.manual_count as remaining
from cronty.job_overview v
where v.owner_id = (select id from cronty.owners where name = $1) and v.next_slot < $2
order by v.next_slot, v.number
limit $3
