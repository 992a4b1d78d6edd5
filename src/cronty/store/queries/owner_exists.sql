-- Whether there is an owner of this name.
select exists (select from cronty.owners where name = $1)
