select cronty.enqueue($1::text::jsonb, $2::text)::text
