-- Close an owner that is to be erased, if it isn't closed already; its id. $1 owner, $2 now.
update cronty.owners set erasing_since = coalesce(erasing_since, $2::timestamptz, statement_timestamp()) where name = $1 returning id
