-- A key that is still good, and whose it is. $1 now, $2 its id.
select * from cronty.find_key($2, coalesce($1::timestamptz, statement_timestamp()))
