-- A worker that has nothing left goes, and leaves no lease behind.
with gone as (
  delete from cronty.workers where id = $1
)
delete from cronty.stop_requests where worker = $1
