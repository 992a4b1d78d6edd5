-- Say once that a limit holds somebody back: a line in the trail, and a notification if there is a topic for it.
-- $1 now, $2 owners, $3 jobs, $4 what is said, $5 topics ('' for none).
with held as (
  select * from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) u(owner_id, job_id, said, topic)
), noted as (
  insert into cronty.audit (at, owner_id, job_id, what, after)
  select $1, owner_id, job_id, 'held by a limit', jsonb_build_object('reason', said) from held
), alert as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  select owner_id, cronty.take_numbers(owner_id, 1), 'Alert: a limit was reached', 'notify',
    jsonb_build_object('args', '[]'::jsonb, 'kwargs', jsonb_build_object(
      'message', left(said, 1000), 'topic', topic, 'title', 'A limit was reached')),
    jsonb_build_object('kind', 'once', 'at', to_char($1::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
    '{"attempts": 3, "catch_up_window": 316224000}', '{alert}', $1, $1
  from held where topic <> '' order by owner_id
  returning id, owner_id
), due as (
  insert into cronty.due (job_id, owner_id, next_at, serial) select id, owner_id, $1, true from alert
)
select count(pg_notify('cronty', 'due ' || extract(epoch from $1::timestamptz))) from alert
