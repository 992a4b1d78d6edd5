select coalesce($1::timestamptz, statement_timestamp())
