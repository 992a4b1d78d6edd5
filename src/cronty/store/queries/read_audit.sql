-- An owner's own trail, the latest entry first. $1 owner, $2 how many, $3 only entries before the one of this number.
select a.number, a.at, a.what, j.number as job_id, a.actor::text as actor, a.client::text as client, a.before::text as before,
  a.after::text as after, encode(a.hash, 'hex') as hash
from cronty.audit a
left join cronty.jobs j on j.id = a.job_id
where a.owner_id = (select id from cronty.owners where name = $1) and a.number is not null
  and ($3::bigint is null or a.number < $3)
order by a.number desc
limit $2
