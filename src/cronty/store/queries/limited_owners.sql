-- Owners with limits of their own.
select id, limits::text from cronty.owners where limits is not null and id >= 0
