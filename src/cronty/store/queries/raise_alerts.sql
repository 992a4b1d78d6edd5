-- Alerts to be sent. $1 now, $2 owners, $3 the jobs they are about (0: none), $4 names, $5 arguments, $6 tasks.
with raised as (
  insert into cronty.alerts (owner_id, job_id, at, name, arguments, task)
  select u.owner_id, u.job_id, coalesce($1::timestamptz, statement_timestamp()), u.name, u.arguments::jsonb, u.task
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[]) u(owner_id, job_id, name, arguments, task)
)
select pg_notify('cronty', 'alert')
