-- The position in the write-ahead log that a replica has replayed; null if it isn't a replica (any more).
select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::bigint end
