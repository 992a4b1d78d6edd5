-- Claim waiting runs, those due first, whatever their task. $1 now, $2 worker, $3 tasks it has, $4 how often they have
-- crashed, $5 how many, $6 owners to leave out, $7 and $8 owners and their limits, $9 the limit of each other owner,
-- $10 leave out runs that were due before this (null: none). None is claimed while the installation is frozen.
-- Twice as many rows are read as are claimed, so that two workers at once don't lock the same ones. The limit of 1 makes
-- the second lookup use the key, also in a plan that was made while the table was empty.
with seen as (
  select q.job_id, q.scheduled_for, q.due_at
  from unnest($3::text[]) t(task)
  cross join lateral (
    select job_id, scheduled_for, due_at from cronty.queue
    where task = t.task and crashes = $4 and due_at <= coalesce($1::timestamptz, statement_timestamp())
      and due_at >= coalesce($10::timestamptz, '-infinity') and owner_id <> all($6::bigint[])
    order by due_at
    limit 2 * $5::int
  ) q
  where (select frozen_at is null from cronty.server where only_row)
  order by q.due_at
  limit 2 * $5::int
), picked as (
  select q.*
  from seen s
  cross join lateral (
    select job_id, scheduled_for, owner_id, due_at, task, ctid as place from cronty.queue
    where job_id = s.job_id and scheduled_for = s.scheduled_for
      and task = any($3::text[]) and crashes = $4 and due_at <= coalesce($1::timestamptz, statement_timestamp())
    limit 1
    for update skip locked
  ) q
  limit $5
), allowed as (
  select p.*
  from (select *, row_number() over (partition by owner_id order by due_at) as number from picked) p
  where p.number <= coalesce((
    select r.room from unnest($7::bigint[], $8::int[]) r(owner_id, room) where r.owner_id = p.owner_id), $9::int)
), taken as (
  delete from cronty.queue q using allowed p where q.ctid = p.place
)
update cronty.runs r
set state = 'running', attempt = r.attempt + 1, worker = $2, started_at = coalesce($1::timestamptz, statement_timestamp())
from allowed p
join cronty.jobs j on j.id = p.job_id
where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for
returning r.job_id, r.owner_id, r.scheduled_for, r.attempt, r.failures, r.crashes, p.task, j.arguments::text, j.policy::text,
  j.last_error is not null as failing,
  j.state = 'cancelled' or (select erasing_since is not null from cronty.owners where id = p.owner_id limit 1) as cancelled, (select cronty.epoch()) as epoch, j.number as job_number,
  extract(epoch from r.started_at - p.due_at)::float8 as waited
