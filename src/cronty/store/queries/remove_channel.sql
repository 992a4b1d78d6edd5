update cronty.channels
set sealed = null, key_id = null, hint = '', removed_at = coalesce($3::timestamptz, statement_timestamp())
where owner_id = (select id from cronty.owners where name = $1) and name = $2 and sealed is not null
