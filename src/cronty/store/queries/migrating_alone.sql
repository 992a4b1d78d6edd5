-- Whether this session has the lock $1 and a short lock timeout. Behind a pooler in transaction mode, it may be another
-- session than the one that took the lock.
select current_setting('lock_timeout') <> '0' and exists (
  select from pg_locks
  where locktype = 'advisory' and pid = pg_backend_pid() and granted
    and classid = ($1::bigint >> 32)::oid and objid = ($1::bigint & 4294967295)::oid and objsubid = 1)
