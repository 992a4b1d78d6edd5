insert into cronty.owners (name) values ($1) on conflict (name) do nothing
