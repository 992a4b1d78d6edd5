-- Take calls to ntfy that are to be made now, for $3 seconds; they are taken again if whoever took them doesn't settle them. None is while
-- the installation is frozen: a restored copy has the ids that production's messages have at ntfy. $1 now, $2 how many at most, $4 how many
-- of an owner at most, $5 owners that must wait, $6 seconds that are too near to give it, $7 seconds for which a call may still be carried
-- out, $8 owners that give nothing until $9, which what must not ring doesn't wait for. Turns are found among the first that are due, ten times as many as are taken. What the call may do from now on is written before it
-- is made: `was_there`, `was_recalled` and `was_arriving` are how it was before. What is there and too near to be given again is taken back.
-- `replaced`: its run was sent under its id to the same place. `coming`: its run is yet to be sent. The limits of 1 make the lookups use
-- keys.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), due as materialized (
  select h.ctid as place, h.owner_id, h.due_at, h.state, h.scheduled_for, h.there, h.recalled, h.arriving_until from cronty.handed_over h
  where h.due_at <= (select now from clock) and h.owner_id <> all($5::bigint[])
    and (
      h.state = 'taking' or h.scheduled_for <= (select now from clock) + make_interval(secs => $6::float8)
      or h.owner_id <> all(array(
        select u.owner_id from unnest($8::bigint[], $9::timestamptz[]) u(owner_id, until) where u.until > (select now from clock))))
    and (select frozen_at is null from cronty.server where only_row)
  order by h.due_at
  limit 10 * $2
  for update skip locked
), picked as (
  select d.*, k.now, d.scheduled_for > k.now + make_interval(secs => $6::float8) as far,
    d.scheduled_for > k.now and (d.there or d.arriving_until is not null) as may_ring
  from (
    select *, row_number() over (partition by owner_id order by (state = 'taking') desc, scheduled_for) as turn from due
  ) d, clock k
  where d.turn <= $4
  order by d.turn, d.scheduled_for
  limit $2
), claimed as (
  update cronty.handed_over h
  set tries = h.tries + 1, claimed = true, due_at = p.now + make_interval(secs => $3::float8),
    state = case when p.may_ring and not p.far then 'taking' else h.state end,
    recalled = h.recalled or (p.may_ring and (h.state = 'taking' or not p.far)),
    there = h.there or (h.state = 'giving' and p.far),
    arriving_until = case when h.state = 'giving' and p.far then p.now + make_interval(secs => $7::float8) else h.arriving_until end
  from picked p
  where h.ctid = p.place
  returning h.*, p.there as was_there, p.recalled as was_recalled, p.arriving_until as was_arriving, p.now
)
select c.*, j.number as job_number, j.name, j.zone, j.version as job_version, j.arguments::text,
  not c.was_recalled and exists (
    select from cronty.runs r join cronty.channels n on n.owner_id = c.owner_id and n.name = c.channel and n.sealed = c.sealed
    where r.job_id = c.job_id and r.scheduled_for = c.scheduled_for and r.attempt > 0) as replaced,
  exists (
    select from cronty.due d where d.job_id = c.job_id and d.next_at - make_interval(secs => d.delay) <= c.scheduled_for
  ) or exists (
    select from cronty.runs r
    where r.job_id = c.job_id and r.scheduled_for = c.scheduled_for and r.state = 'waiting' and r.attempt = 0) as coming
from claimed c
left join lateral (select number, name, zone, version, arguments from cronty.jobs where id = c.job_id limit 1) j on true
order by c.scheduled_for
