-- Take absences whose owners are to be told: nothing was added to them for $2 seconds. $1 now, $3 how many at most.
-- `channel` is the one that the owner added first.
with taken as (
  delete from cronty.absences
  where owner_id in (
    select owner_id from cronty.absences
    where until <= coalesce($1::timestamptz, statement_timestamp()) - $2::float8 * interval '1 second'
    order by owner_id limit $3 for update skip locked)
  returning *
)
select t.owner_id, t.since, t.until, t.late, t.coalesced, t.missed, o.zone,
  array(select j.name from unnest(t.late_jobs) with ordinality u(id, place) join cronty.jobs j on j.id = u.id order by u.place)
    as late_names,
  array(select j.name from unnest(t.missed_jobs) with ordinality u(id, place) join cronty.jobs j on j.id = u.id order by u.place)
    as missed_names,
  (select c.name from cronty.channels c where c.owner_id = t.owner_id and c.sealed is not null order by c.created_at, c.name limit 1)
    as channel
from taken t
join cronty.owners o on o.id = t.owner_id
where o.erasing_since is null
