select name, parameters::text, doc, seen_at from cronty.tasks order by name
