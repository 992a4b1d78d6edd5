-- Take results that are to be told now, for $3 seconds; they are taken again if whoever took them doesn't settle them.
-- None is while the installation is frozen.
-- $1 now, $2 how many at most, $4 how many of an owner at most, $5 owners that must wait, $6 and $7 owners that must wait
-- until a time. Turns are found among the first that are due, ten times as many as are taken: an owner with more than those
-- is among the ones that wait next time. `told_before` is what was last delivered of the job. The limits of 1 make the lookups use keys.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), due as materialized (
  select t.ctid as place, t.owner_id, t.due_at from cronty.tellings t
  where t.due_at <= (select now from clock) and t.owner_id <> all($5::bigint[])
    and not exists (
      select from unnest($6::bigint[], $7::timestamptz[]) l(owner_id, until)
      where l.owner_id = t.owner_id and l.until > (select now from clock))
    and (select frozen_at is null from cronty.server where only_row)
  order by t.due_at
  limit 10 * $2
  for update skip locked
), picked as (
  select d.place from (select *, row_number() over (partition by owner_id order by due_at) as turn from due) d
  where d.turn <= $4
  order by d.turn, d.due_at
  limit $2
), claimed as (
  update cronty.tellings t set tries = t.tries + 1, due_at = c.now + $3::float8 * interval '1 second'
  from picked p, clock c
  where t.ctid = p.place
  returning t.job_id, t.scheduled_for, t.owner_id, t.tries, t.failures, c.now
)
select c.*, j.number as job_number, j.name, j.policy::text, r.state::text, r.result::text, r.error,
  (select cronty.epoch()) as epoch,
  (select b.digest from cronty.tellings b
    where b.job_id = c.job_id and b.scheduled_for < c.scheduled_for and b.digest is not null
    order by b.scheduled_for desc limit 1) as told_before
from claimed c
cross join lateral (select number, name, policy from cronty.jobs where id = c.job_id limit 1) j
left join lateral (
  select state, result, error from cronty.runs where job_id = c.job_id and scheduled_for = c.scheduled_for limit 1
) r on true
