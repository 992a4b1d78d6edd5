-- Workers whose lease had expired at $1.
select id from cronty.workers where lease_until < $1::timestamptz
