-- Which of the owners $1 have runs that changed after $2, and up to what time that is known. $3 now, $4 only changes
-- written by this transaction or a later one, $5 only slots after this. The last half second is left for the next call, as
-- in `list_events`. Recent changes are read once, for any number of owners.
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
