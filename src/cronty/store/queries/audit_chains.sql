-- Entries as they are hashed, a chain after the other. $1 the owner, or null for all.
select a.owner_id, a.number, a.previous, a.hash, cronty.audit_text(a) as text
from cronty.audit a
where $1::text is null or a.owner_id = (select id from cronty.owners where name = $1)
order by a.owner_id, a.number, a.sealed_at
