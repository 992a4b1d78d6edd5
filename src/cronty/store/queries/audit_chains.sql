-- Entries in the form that is hashed, one chain after the other. $1 the owner, or null for all: both are a range, so that
-- one plan with the index is right for both. Without owners that are being erased.
select a.owner_id, a.number, a.previous, a.hash, cronty.audit_text(a) as text
from cronty.audit a
where a.owner_id between case when $1::text is null then 0 else (select id from cronty.owners where name = $1) end
  and case when $1::text is null then 9223372036854775807 else (select id from cronty.owners where name = $1) end
  and a.owner_id <> all (array(select e.id from cronty.owners e where e.erasing_since is not null))
order by a.owner_id, a.number, a.sealed_at
