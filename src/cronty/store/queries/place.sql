-- Which database this is, among those that can be reached at the same time, and which transaction.
select json_build_object('database', extract(epoch from pg_postmaster_start_time()) || ' ' || oid,
  'transaction', pg_current_xact_id()::text)::text
from pg_database where datname = current_database()
