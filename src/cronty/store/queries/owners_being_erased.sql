-- Owners that are being erased. $1 the owner, or null for all.
select name from cronty.owners where erasing_since is not null and ($1::text is null or name = $1) order by name
