select c.name, c.scheme, c.hint, c.created_at, c.ahead
from cronty.channels c
join cronty.owners o on o.id = c.owner_id
where o.name = $1 and c.sealed is not null
order by c.name
