-- Strike off the workers whose lease has passed. Their runs, and any run of a worker that isn't listed, are rescued next.
-- A database that has just come back gives everybody a lease's time ($2, seconds) to say that they are still there.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), expired as (
  delete from cronty.workers w
  using clock c
  where w.lease_until < c.now and pg_postmaster_start_time() < c.now - $2::float8 * interval '1 second'
  returning w.id
), unasked as (
  delete from cronty.stop_requests s using expired e where s.worker = e.id
)
select count(*) from expired
