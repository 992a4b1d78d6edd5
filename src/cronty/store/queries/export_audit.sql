-- The trail, an owner after the other, in the order of their chains. $1 the owner, or null for all, $2 since when.
select a.owner_id, o.name as owner, a.number, a.at, a.what, a.job_id, a.actor::text as actor, a.client::text as client,
  a.before::text as before, a.after::text as after, encode(a.previous, 'hex') as previous, encode(a.hash, 'hex') as hash
from cronty.audit a
left join cronty.owners o on o.id = a.owner_id
where a.number is not null and ($1::text is null or o.name = $1) and ($2::timestamptz is null or a.at >= $2)
order by a.owner_id, a.number
