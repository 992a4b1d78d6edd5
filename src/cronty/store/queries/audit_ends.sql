-- The checkpoint and the head of each chain, if it has them. $1 the owner, or null for all.
-- Without owners that are being erased.
with heads as (
  select * from cronty.audit_heads
  where owner_id between case when $1::text is null then 0 else (select id from cronty.owners where name = $1) end
    and case when $1::text is null then 9223372036854775807 else (select id from cronty.owners where name = $1) end
), checkpoints as (
  select * from cronty.audit_checkpoints
  where owner_id between case when $1::text is null then 0 else (select id from cronty.owners where name = $1) end
    and case when $1::text is null then 9223372036854775807 else (select id from cronty.owners where name = $1) end
)
select owner_id, coalesce(o.name, 'owner ' || owner_id) as owner, h.number as head_number, h.hash as head_hash,
  c.month, c.number, c.hash, c.count, c.key_id, c.signature
from heads h
full join checkpoints c using (owner_id)
left join cronty.owners o on o.id = owner_id
where o.erasing_since is null
order by owner_id
