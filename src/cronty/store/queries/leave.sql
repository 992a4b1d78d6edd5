-- Delete a worker that has no runs left, with its lease.
with gone as (
  delete from cronty.workers where id = $1
)
delete from cronty.stop_requests where worker = $1
