-- Up to which moment is known what happened, and to whose runs of the owners $1 something did after $2. $3 the moment, $4
-- only what this transaction or a later one wrote, $5 only slots after this. The last half second is left for the next
-- look, as in `list_events`. All that happened lately is read once, however many owners are asked for.
with clock as (
  select coalesce($3::timestamptz, statement_timestamp()) - interval '0.5 seconds' as through
), lately as materialized (
  select distinct r.owner_id
  from cronty.runs r
  where (r.started_at > $2 or r.finished_at > $2) and r.scheduled_for > $5
    and ($4::xid is null or age(r.xmin) <= age($4::xid))
)
select c.through, array(
  select o.name::text from lately l join cronty.owners o on o.id = l.owner_id where o.name = any($1::text[])
) as owners
from clock c
