select c.name, c.days::text, c.updated_at, c.digest, c.source, c.owner_id
from cronty.calendars c
join cronty.owners o on o.id = c.owner_id
where o.name = $1
order by c.name
