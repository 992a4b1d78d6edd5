-- How many entries of the trail aren't sealed yet. $1 the owner, or null for all.
select count(*)
from cronty.audit_unsealed u
where u.owner_id between case when $1::text is null then 0 else (select id from cronty.owners where name = $1) end
  and case when $1::text is null then 9223372036854775807 else (select id from cronty.owners where name = $1) end
