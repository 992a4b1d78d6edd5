-- The trail, owner by owner, in the order of their chains. $1 the owner, or null for all, $2 since when. An entry is sealed
-- after it is made; the extra day allows for clocks that differ.
select a.owner_id, o.name as owner, a.number, a.at, a.what, a.job_id, a.job_number, a.actor::text as actor,
  a.client::text as client, a.before::text as before, a.after::text as after, a.sealed_at,
  encode(a.previous, 'hex') as previous, encode(a.hash, 'hex') as hash
from cronty.audit a
left join cronty.owners o on o.id = a.owner_id
where a.owner_id between case when $1::text is null then 0 else (select id from cronty.owners where name = $1) end
  and case when $1::text is null then 9223372036854775807 else (select id from cronty.owners where name = $1) end
  and a.at >= coalesce($2::timestamptz, '-infinity')
  and a.sealed_at >= coalesce($2::timestamptz, '-infinity') - interval '1 day'
order by a.owner_id, a.number
