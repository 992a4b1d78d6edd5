-- Have others that count what this owner has wait until this transaction ends. Jobs, runs and calls don't.
select id from cronty.owners where name = $1 for no key update
