-- Take calls to ntfy that are to be made now, for $3 seconds; they are taken again if whoever took them doesn't settle them. None is while
-- the installation is frozen: a restored copy has the ids that production's messages have at ntfy. $1 now, $2 how many at most, $4 how many of an owner at most, $5 owners that must wait, $6 seconds that are
-- too near to give it. Turns are found among the first that are due, ten times as many as are taken. What is about to be given may be
-- there from now on; `was_there` is how it was before. `replaced`: its run was sent to the same place. The limits of 1 make the lookups
-- use keys.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), due as materialized (
  select h.ctid as place, h.owner_id, h.due_at, h.state, h.scheduled_for, h.there from cronty.handed_over h
  where h.due_at <= (select now from clock) and h.owner_id <> all($5::bigint[])
    and (select frozen_at is null from cronty.server where only_row)
  order by h.due_at
  limit 10 * $2
  for update skip locked
), picked as (
  select d.place, d.there
  from (
    select *, row_number() over (partition by owner_id order by (state = 'taking') desc, scheduled_for) as turn from due
  ) d
  where d.turn <= $4
  order by d.turn, d.scheduled_for
  limit $2
), claimed as (
  update cronty.handed_over h
  set tries = h.tries + 1, due_at = k.now + make_interval(secs => $3::float8),
    there = h.there or (h.state = 'giving' and h.scheduled_for > k.now + make_interval(secs => $6::float8))
  from picked p, clock k
  where h.ctid = p.place
  returning h.*, p.there as was_there, k.now
)
select c.*, j.number as job_number, j.name, j.zone, j.version as job_version, j.arguments::text,
  exists (
    select from cronty.runs r join cronty.channels n on n.owner_id = c.owner_id and n.name = c.channel and n.sealed = c.sealed
    where r.job_id = c.job_id and r.scheduled_for = c.scheduled_for) as replaced
from claimed c
left join lateral (select number, name, zone, version, arguments from cronty.jobs where id = c.job_id limit 1) j on true
order by c.scheduled_for
