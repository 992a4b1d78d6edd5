-- The lists whose jobs have yet to follow a change of their days.
select o.name as owner, c.name, c.digest
from cronty.calendars c
join cronty.owners o on o.id = c.owner_id
where c.moving
order by o.name, c.name
