-- Where chains begin and end: their checkpoint and their head, as far as there are. $1 the owner, or null for all.
select owner_id, coalesce(o.name, 'owner ' || owner_id) as owner, h.number as head_number, h.hash as head_hash,
  c.month, c.number, c.hash, c.count, c.key_id, c.signature
from cronty.audit_heads h
full join cronty.audit_checkpoints c using (owner_id)
left join cronty.owners o on o.id = owner_id
where $1::text is null or o.name = $1
order by owner_id
