select name from cronty.owners where id = $1
