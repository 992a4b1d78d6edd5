-- The names of an owner's channels, those of removed ones too, which stay taken.
select c.name, c.sealed is not null as there
from cronty.channels c
where c.owner_id = (select id from cronty.owners where name = $1)
