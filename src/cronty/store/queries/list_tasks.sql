-- The tasks that an owner ($1) may use.
select name, parameters::text, doc from cronty.tasks where owners is null or owners ? $1 order by name
