-- $7 its id, random: none is ever used again, not even after history was lost in a failover or a restore.
insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until)
select $7, $2, $3, $4, $5, n.now, n.now, n.now + $6::float8 * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
returning id, beat_at
