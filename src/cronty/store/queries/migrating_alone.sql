-- Does this very session hold the lock $1, and wait briefly for others? Behind a pooler that hands out a session per
-- transaction it may be another session than the one that was asked before.
select current_setting('lock_timeout') <> '0' and exists (
  select from pg_locks
  where locktype = 'advisory' and pid = pg_backend_pid() and granted
    and classid = ($1::bigint >> 32)::oid and objid = ($1::bigint & 4294967295)::oid and objsubid = 1)
