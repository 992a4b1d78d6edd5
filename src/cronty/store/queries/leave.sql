-- A worker that has nothing left goes, and leaves no lease behind.
delete from cronty.workers where id = $1
