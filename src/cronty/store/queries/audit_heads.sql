-- Where the chains end. $1 the owner, or null for all.
select coalesce(o.name, 'owner ' || h.owner_id) as owner, h.number, encode(h.hash, 'hex') as hash
from cronty.audit_heads h
left join cronty.owners o on o.id = h.owner_id
where $1::text is null or o.name = $1
order by 1
