-- A key was used; noted once a minute at the most.
update cronty.api_keys set last_used_at = coalesce($1::timestamptz, statement_timestamp()) where id = $2
