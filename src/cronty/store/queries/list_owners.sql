-- A page of the owners, by name after $1, at most $2, each with what it has; runs are counted up to $3. $4 the moment.
select o.name, o.live_jobs, o.live_bytes, o.limits is not null as limited, o.erasing_since, o.created_at,
  (select count(*) from (
    select from cronty.runs r where r.owner_id = o.id and r.state = 'running' limit $3
  ) r)::int as running,
  (select count(*) from (
    select from cronty.runs r
    where r.owner_id = o.id and r.state in ('failed', 'quarantined')
      and r.finished_at > coalesce($4::timestamptz, statement_timestamp()) - interval '1 day'
    limit $3
  ) r)::int as failed
from cronty.owners o
where o.name > $1
order by o.name
limit $2
