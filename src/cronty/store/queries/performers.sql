-- Who performs these tasks ($2): living workers but $3, one of each program and place. $1 now.
select min(w.name) as worker, t.key as task, w.program, t.value ->> 0 as package, t.value ->> 1 as place
from cronty.workers w
cross join lateral jsonb_each(w.performs) t
where w.id <> $3 and w.lease_until >= coalesce($1::timestamptz, statement_timestamp()) and t.key = any($2::text[])
group by t.key, w.program, t.value
order by t.key, worker
