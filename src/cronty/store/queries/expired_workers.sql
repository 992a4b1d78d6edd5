-- Workers whose lease had passed at $1.
select id from cronty.workers where lease_until < $1::timestamptz
