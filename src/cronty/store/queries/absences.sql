-- Times when no engine was running, found from an owner's runs. $1 owner, $2 caught up on since, $3 how many.
-- A slot that was decided over a minute late is a sign of one, unless it waited for one of the 100 runs before it. Slots
-- decided within five minutes of each other belong to the same absence. Only the latest 1,000 late slots are looked at; if
-- there are as many, the earliest absence may have had more (`cut`).
with late as materialized (
  select j.id as job_id, r.*
  from cronty.jobs j
  cross join lateral (
    select r.scheduled_for, r.started_at, r.slots, r.state,
      case when r.state in ('coalesced', 'missed') then r.finished_at else r.started_at end as decided_at
    from cronty.runs r
    where r.job_id = j.id and r.scheduled_for > $2::timestamptz - interval '31 days'
      and coalesce(r.reason, '') not like 'expired:%' -- it fired in time, but wasn't read
      and r.attempt <= 1 and not r.manual and r.backfilled is null and (r.state in ('coalesced', 'missed') or r.started_at is not null)
      and case when r.state in ('coalesced', 'missed') then r.finished_at else r.started_at end
        > greatest($2::timestamptz, r.scheduled_for + interval '60 seconds')
    offset 0
  ) r
  where j.owner_id = (select id from cronty.owners where name = $1)
  order by r.decided_at desc
  limit 1000
), told as (
  select * from late r
  where not exists (
    select from (
      select p.started_at, p.finished_at from cronty.runs p
      where p.job_id = r.job_id and p.scheduled_for < r.scheduled_for
      order by p.scheduled_for desc
      limit 100
    ) p
    where p.started_at < r.scheduled_for and p.finished_at > r.scheduled_for and p.finished_at <= r.started_at)
), apart as (
  select *, decided_at - lag(decided_at) over (order by decided_at) > interval '5 minutes' as anew from told
), counted as (
  select *, count(*) filter (where anew) over (order by decided_at) as absence from apart
)
select min(scheduled_for) as since, min(decided_at) as until,
  coalesce(sum(slots) filter (where state not in ('coalesced', 'missed')), 0)::int as late,
  coalesce(sum(slots) filter (where state = 'coalesced'), 0)::int as coalesced,
  coalesce(sum(slots) filter (where state = 'missed'), 0)::int as missed,
  absence = 0 and (select count(*) from late) = 1000 as cut
from counted
group by absence
order by until desc
limit $3
