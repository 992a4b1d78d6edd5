-- The jobs of an owner that go by a list, deleted ones that can come back too. $1 owner, $2 the list's name in lower case.
select j.id, j.number, j.task, j.arguments -> 'kwargs' ->> 'agent' as agent, j.origin ->> 'agent' as made_by, j.deleted_at is not null as deleted
from cronty.jobs j
where j.owner_id = (select id from cronty.owners where name = $1) and j.trigger ? 'calendars'
  and (j.state in ('active', 'paused') or j.deleted_from in ('active', 'paused'))
  and exists (
    select from jsonb_array_elements_text( -- a newer version may have written something else
      case when jsonb_typeof(j.trigger->'calendars') = 'array' then j.trigger->'calendars' else '[]' end) named
    where lower(named) = $2
  )
order by j.number
