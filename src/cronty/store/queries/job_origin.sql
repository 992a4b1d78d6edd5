select j.origin::text
from cronty.jobs j
join cronty.owners o on o.id = j.owner_id
where o.name = $1 and j.number = $2
