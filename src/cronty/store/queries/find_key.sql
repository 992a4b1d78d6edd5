-- A key that is neither revoked nor expired, and its owner. $1 now, $2 its id.
select * from cronty.find_key($2, coalesce($1::timestamptz, statement_timestamp()))
