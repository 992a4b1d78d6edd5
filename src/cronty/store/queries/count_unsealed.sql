-- How many entries of the trail have no seal yet. $1 the owner, or null for all.
select count(*)
from cronty.audit a
where a.hash is null and ($1::text is null or a.owner_id = (select id from cronty.owners where name = $1))
