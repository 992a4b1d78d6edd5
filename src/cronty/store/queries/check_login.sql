-- What a connection is about: the process that serves it, the server and its database, and what its login may do.
-- `walled`: row-level security is set up, and the login may switch to role $1. `blind`: it is set up, and the login neither
-- owns the tables nor may switch.
select pg_backend_pid() as pid, pg_postmaster_start_time() as started_at,
  (select d.oid from pg_database d where d.datname = current_database()) as database,
  current_setting('statement_timeout') as statement_timeout,
  (select r.rolsuper or r.rolbypassrls from pg_roles r where r.rolname = session_user) as almighty,
  coalesce(w.walled and w.may, false) as walled,
  case when w.walled and not w.may then row_security_active(w.jobs) else false end as blind
from (values (1)) always left join (
  select c.oid as jobs, c.relrowsecurity as walled, exists (
    select from pg_roles r
    where r.rolname = $1 and not r.rolsuper and not r.rolbypassrls and pg_has_role(
      session_user, r.oid, case when current_setting('server_version_num')::int < 160000 then 'MEMBER' else 'SET' end)) as may
  from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'cronty'
  where c.relname = 'jobs'
) w on true
