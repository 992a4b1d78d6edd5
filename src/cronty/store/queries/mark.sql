-- The oldest transaction that may still write: what is written from now on is of this one or a later one.
select pg_snapshot_xmin(pg_current_snapshot())::xid
