-- Jobs whose notifications ntfy is given ahead of their time, or has been, after the job $2, at most $3: with the channel, if there is
-- one to give them to. $1 now, $4 seconds to look ahead. None while the installation is frozen: a restored copy has the ids that
-- production's messages have at ntfy.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now from cronty.server where only_row and frozen_at is null
), wanted as (
  select j.id from clock, cronty.channels c
  join cronty.jobs j on j.owner_id = c.owner_id and j.deleted_at is null and not j.ended
  join cronty.due d on d.job_id = j.id
  where c.ahead and c.sealed is not null and j.id > $2 and j.task = 'notify' and j.state = 'active'
    and j.arguments->'kwargs'->>'topic' = c.name and d.next_at <= clock.now + make_interval(secs => $4::float8)
  union
  select h.job_id from clock, cronty.handed_over h
  where h.job_id > $2 and (h.scheduled_for > clock.now or h.state = 'taking')
  order by 1
  limit $3
)
select v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json, 0 as in_flight,
  clock.now, c.key_id, c.sealed, (select count(*) from wanted)::int as wanted, (select max(id) from wanted) as last
from wanted w
cross join clock
join cronty.every_job v on v.id = w.id
left join cronty.channels c on c.owner_id = v.owner_id and c.name = v.arguments->'kwargs'->>'topic' and c.ahead and c.sealed is not null
order by v.id
