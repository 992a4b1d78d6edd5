-- An owner's own trail, the latest entry first. $1 owner, $2 how many, $3 only entries before the one of this number.
select a.number, a.at, a.what, coalesce(j.number, c.number) as job_id, a.actor::text as actor, a.client::text as client, a.before::text as before,
  a.after::text as after, encode(a.hash, 'hex') as hash
from cronty.audit a
left join cronty.jobs j on j.id = a.job_id
left join lateral ( -- of a job that is gone, its first entry knows the number
  select (f.after ->> 'number')::bigint as number from cronty.audit f
  where j.id is null and f.job_id = a.job_id and f.owner_id = a.owner_id
  order by f.id
  limit 1
) c on true
where a.owner_id = (select id from cronty.owners where name = $1) and a.number is not null
  and ($3::bigint is null or a.number < $3)
order by a.number desc
limit $2
