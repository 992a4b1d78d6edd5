select origin::text from cronty.jobs where id = $1
