-- Whether row-level security is set up and the login user may switch to this role. `blind`: it is set up, and the user
-- neither owns the tables nor may switch. No row: there is no schema yet.
select w.walled and w.may as walled,
  case when w.walled and not w.may then row_security_active(w.jobs) else false end as blind
from (
  select c.oid as jobs, c.relrowsecurity as walled, exists (
    select from pg_roles r
    where r.rolname = $1 and not r.rolsuper and not r.rolbypassrls and pg_has_role(
      session_user, r.oid, case when current_setting('server_version_num')::int < 160000 then 'MEMBER' else 'SET' end)) as may
  from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'cronty'
  where c.relname = 'jobs'
) w
