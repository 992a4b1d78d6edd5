-- $7 its id. It is random, so that it is never reused, not even after a failover or restore lost the latest transactions.
insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until, program, performs)
select $7, $2, $3, $4, $5, n.now, n.now, n.now + $6::float8 * interval '1 second', $8, $9::text::jsonb
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
returning id, beat_at
