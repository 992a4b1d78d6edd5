-- The walls between owners as they are, one line per role, table, policy and right; the catalog alone is read, which any login may.
with tables as (
  select c.oid, c.relname, c.relrowsecurity
  from pg_class c
  where c.relnamespace = to_regnamespace('cronty') and c.relkind in ('r', 'p') and not c.relispartition
)
select line from (
  select 'role ' || r.rolname as line from pg_roles r where r.rolname in ('cronty_app', 'cronty_engine')
  union all
  select 'wall around ' || t.relname from tables t where t.relrowsecurity
  union all
  select 'wall around ' || t.relname || ' lets ' || coalesce(r.rolname, 'everybody') || ' at '
    || coalesce(regexp_replace(pg_get_expr(p.polqual, p.polrelid), '\s+', ' ', 'g'), 'nothing')
    || case when pg_get_expr(p.polwithcheck, p.polrelid) <> pg_get_expr(p.polqual, p.polrelid)
      then ' and write ' || regexp_replace(pg_get_expr(p.polwithcheck, p.polrelid), '\s+', ' ', 'g') else '' end
  from tables t join pg_policy p on p.polrelid = t.oid left join pg_roles r on r.oid = any(p.polroles)
  union all
  select 'grant to ' || r.rolname || ' on schema ' || n.nspname || ': '
    || string_agg(lower(a.privilege_type), ', ' order by a.privilege_type collate "C")
  from pg_namespace n, aclexplode(n.nspacl) a join pg_roles r on r.oid = a.grantee
  where n.nspname = 'cronty' and a.grantee <> n.nspowner
  group by r.rolname, n.nspname
  union all
  select 'grant to ' || r.rolname || ' on ' || c.relname || ': '
    || string_agg(lower(a.privilege_type), ', ' order by a.privilege_type collate "C")
  from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
  where c.relnamespace = to_regnamespace('cronty') and a.grantee <> c.relowner
  group by r.rolname, c.relname
  union all
  select 'grant to ' || r.rolname || ' on ' || c.relname || ': ' || lower(a.privilege_type)
    || ' (' || string_agg(f.attname, ', ' order by f.attnum) || ')'
  from pg_class c join pg_attribute f on f.attrelid = c.oid, aclexplode(f.attacl) a join pg_roles r on r.oid = a.grantee
  where c.relnamespace = to_regnamespace('cronty')
  group by r.rolname, c.relname, a.privilege_type
  union all
  select 'grant to ' || r.rolname || ' on ' || p.proname || ': execute'
  from pg_proc p, aclexplode(p.proacl) a join pg_roles r on r.oid = a.grantee
  where p.pronamespace = to_regnamespace('cronty') and a.grantee <> p.proowner
) lines
order by line collate "C"
