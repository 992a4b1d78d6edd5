-- The primary's position in the write-ahead log.
select (pg_current_wal_lsn() - '0/0')::bigint
