-- An owner's jobs, deleted ones too, in the order of their numbers. $1 the owner's id, $2 after this number, $3 how many.
select id, number from cronty.jobs where owner_id = $1 and number > $2 order by number limit $3
