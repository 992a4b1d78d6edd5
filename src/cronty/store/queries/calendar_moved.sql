-- The jobs of a list go by its days, unless those have changed again. $1 owner, $2 the list's name, $3 digest of the days.
update cronty.calendars set moving = false
where owner_id = (select id from cronty.owners where name = $1) and name = $2 and digest = $3 and moving
