-- The entries of one month in the form that is hashed, one chain after the other, without owners that are being erased.
-- $1 the month's first day.
select a.owner_id, a.number, a.previous, a.hash, cronty.audit_text(a) as text
from cronty.audit a
where a.sealed_at >= $1::date::timestamp at time zone 'UTC'
  and a.sealed_at < ($1::date + interval '1 month') at time zone 'UTC'
  and a.owner_id <> all (array(select e.id from cronty.owners e where e.erasing_since is not null))
order by a.owner_id, a.number, a.sealed_at
