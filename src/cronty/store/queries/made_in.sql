-- The spans in which these jobs were made or last changed, of those that were within one. Asked only while spans are collected. $1 jobs.
select id, origin ->> 'traceparent' as traceparent
from cronty.jobs
where id = any($1::bigint[]) and origin ->> 'traceparent' is not null
