-- The hash of one entry; that of the last archived one is in its checkpoint. $1 owner, $2 number.
select encode(coalesce(a.hash, case when c.number = $2 then c.hash end), 'hex')
from cronty.owners o
left join cronty.audit_checkpoints c on c.owner_id = o.id
left join cronty.audit a on a.owner_id = o.id and a.number = $2
where o.name = $1
