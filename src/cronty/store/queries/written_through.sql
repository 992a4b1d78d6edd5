-- How far the write-ahead log goes on the primary.
select (pg_current_wal_lsn() - '0/0')::bigint
