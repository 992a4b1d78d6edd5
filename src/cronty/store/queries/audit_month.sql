-- The entries of one month as they are hashed, a chain after the other. $1 the month's first day.
select a.owner_id, a.number, a.previous, a.hash, cronty.audit_text(a) as text
from cronty.audit a
where a.sealed_at >= $1::date::timestamp at time zone 'UTC'
  and a.sealed_at < ($1::date + interval '1 month') at time zone 'UTC'
order by a.owner_id, a.number, a.sealed_at
