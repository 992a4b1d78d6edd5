-- How many entries of the trail have no seal yet. $1 the owner, or null for all.
select count(*)
from cronty.audit_unsealed u
where $1::text is null or u.owner_id = (select id from cronty.owners where name = $1)
