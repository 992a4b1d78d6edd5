-- The jobs of an owner that go by a list and have something to come. $1 owner, $2 the list's name.
select j.number
from cronty.jobs j
join cronty.owners o on o.id = j.owner_id
where o.name = $1 and j.deleted_at is null and j.state in ('active', 'paused') and j.trigger->'calendars' ? $2
order by j.number
