update cronty.owners set limits = $2::jsonb where name = $1
