-- The hash of one entry. $1 owner, $2 number.
select encode(a.hash, 'hex')
from cronty.audit a
join cronty.owners o on o.id = a.owner_id
where o.name = $1 and a.number = $2
