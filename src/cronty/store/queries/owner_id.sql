select id from cronty.owners where name = $1
