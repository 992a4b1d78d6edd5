select zone from cronty.owners where name = $1
