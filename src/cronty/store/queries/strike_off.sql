-- Strike off a worker whose lease had expired at $2, unless it has sent a heartbeat since. $1 worker.
delete from cronty.workers w where w.id = $1 and w.lease_until < $2::timestamptz returning w.id
