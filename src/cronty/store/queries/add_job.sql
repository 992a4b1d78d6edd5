select cronty.add_job($1::jsonb)::text
