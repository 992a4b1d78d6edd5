select parameters::text from cronty.tasks where name = $1
