select c.owner_id, c.name, c.key_id, c.sealed
from cronty.jobs j
join cronty.channels c on c.owner_id = j.owner_id
where j.id = $1 and c.name = $2
