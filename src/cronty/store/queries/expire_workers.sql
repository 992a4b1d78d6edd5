-- Strike off the workers whose lease has passed. Their runs, and any run of a worker that isn't listed, are rescued next.
with expired as (
  delete from cronty.workers where lease_until < coalesce($1::timestamptz, statement_timestamp()) returning id
), unasked as (
  delete from cronty.stop_requests s using expired e where s.worker = e.id
)
select count(*) from expired
