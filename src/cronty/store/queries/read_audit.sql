-- An owner's own trail, the latest entry first, and through which number it was archived: in every row, and in one without
-- an entry if there is none. $1 owner, $2 how many, $3 only entries before the one of this number.
--
-- It goes back month by month, from the month of the owner's last entry, only as far as needed; a month is a partition.
select e.*, w.archived_through
from (
  select o.id, c.number as archived_through, date_trunc('month', h.sealed_at at time zone 'UTC') as last_month,
    greatest(date_trunc('month', h.first_sealed_at at time zone 'UTC'), c.month + interval '1 month') as first_month
  from cronty.owners o
  left join cronty.audit_heads h on h.owner_id = o.id
  left join cronty.audit_checkpoints c on c.owner_id = o.id
  where o.name = $1
) w
left join lateral (
  select entries.*
  from generate_series(w.last_month, w.first_month, interval '-1 month') month
  cross join lateral (
    select a.number, a.at, a.what, a.job_number as job_id, a.actor::text as actor, a.client::text as client,
      a.before::text as before, a.after::text as after, encode(a.hash, 'hex') as hash
    from cronty.audit a
    where a.owner_id = w.id and a.number < coalesce($3, 9223372036854775807)
      and a.sealed_at >= month at time zone 'UTC' and a.sealed_at < (month + interval '1 month') at time zone 'UTC'
    order by a.number desc
    limit $2
  ) entries
  limit $2
) e on true
order by e.number desc
