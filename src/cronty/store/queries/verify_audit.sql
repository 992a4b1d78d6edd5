-- Where chains don't hold: an entry without its hash, numbers that are missing, an entry that doesn't follow the one
-- before it, a head that isn't the end. $1 the owner, or null for all.
with entries as (
  select a.owner_id, a.number, a.at, a.what, a.hash, a.previous, a.hash <> cronty.audit_hash(a) as changed,
    coalesce(lag(a.number) over chain, 0) as number_before, coalesce(lag(a.hash) over chain, '') as hash_before
  from cronty.audit a
  where a.number is not null and ($1::text is null or a.owner_id = (select id from cronty.owners where name = $1))
  window chain as (partition by a.owner_id order by a.number)
), ends as (
  select distinct on (owner_id) * from entries order by owner_id, number desc
), heads as (
  select h.* from cronty.audit_heads h
  where $1::text is null or h.owner_id = (select id from cronty.owners where name = $1)
), found as (
  select owner_id, number, number as last, at, what, 'changed' as kind from entries where changed
  union all
  select owner_id, number_before + 1, number - 1, null, null, 'missing' from entries where number > number_before + 1
  union all
  select owner_id, number, number, at, what, 'unlinked' from entries
  where number = number_before + 1 and previous <> hash_before and not changed
  union all
  select h.owner_id, coalesce(e.number, 0) + 1, h.number, null, null, 'cut off'
  from heads h left join ends e using (owner_id) where h.number > coalesce(e.number, 0)
  union all
  select e.owner_id, e.number, e.number, e.at, e.what, 'added'
  from entries e left join heads h using (owner_id) where e.number > coalesce(h.number, 0)
  union all
  select e.owner_id, e.number, e.number, e.at, e.what, 'another head'
  from ends e join heads h using (owner_id) where e.number = h.number and e.hash <> h.hash
)
select coalesce(o.name, 'owner ' || f.owner_id) as owner, f.number, f.last, f.at, f.what, f.kind
from found f
left join cronty.owners o on o.id = f.owner_id
order by f.owner_id, f.number, f.kind
