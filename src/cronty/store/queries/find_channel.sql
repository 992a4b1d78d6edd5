select c.owner_id, c.name, c.key_id, c.sealed
from cronty.channels c
join cronty.owners o on o.id = c.owner_id
where o.name = $1 and c.name = $2
