-- Lock an owner, so that no rows of its own can be added. What was added by those that this waited for, the next statement
-- sees.
select id from cronty.owners where id = $1 for update
