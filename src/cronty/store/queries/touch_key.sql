-- Record that a key was used, at most once a minute.
update cronty.api_keys set last_used_at = coalesce($1::timestamptz, statement_timestamp()) where id = $2
