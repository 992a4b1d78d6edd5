-- How far a replica has come in the primary's write-ahead log; null if it is no replica, or none any more.
select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::bigint end
