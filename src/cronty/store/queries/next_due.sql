-- Seconds until the earliest slot, or null. $1 now, $2 nothing is due before this.
select extract(epoch from next_at - coalesce($1::timestamptz, statement_timestamp()))::float8
from cronty.due
where next_at >= coalesce($2::timestamptz, '-infinity')
order by next_at
limit 1
