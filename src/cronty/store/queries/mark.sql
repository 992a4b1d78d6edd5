-- The oldest running transaction: what is written from now on is written by this one or a later one.
select pg_snapshot_xmin(pg_current_snapshot())::xid
