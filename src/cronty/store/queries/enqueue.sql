select cronty.enqueue($1::text, $2::text)::text
