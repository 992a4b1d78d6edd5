-- The schema without its walls, one line per object, the same on every supported version of PostgreSQL.
with tables as (
  select c.oid, c.relname, c.relkind, c.reloptions
  from pg_class c
  where c.relnamespace = 'cronty'::regnamespace and c.relkind in ('r', 'p') and c.relname !~ '^(runs_\d{8}|audit_\d{6})$'
)
select line from (
  select 'type ' || t.typname || ' (' || string_agg(e.enumlabel, ', ' order by e.enumsortorder) || ')' as line
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = 'cronty'::regnamespace
  group by t.typname
  union all
  select 'domain ' || t.typname || ' ' || format_type(t.typbasetype, t.typtypmod) || ' ' || pg_get_constraintdef(c.oid)
  from pg_type t join pg_constraint c on c.contypid = t.oid
  where t.typnamespace = 'cronty'::regnamespace and c.contype = 'c'
  union all
  select 'table ' || t.relname || case when t.relkind = 'p' then ' partition by ' || pg_get_partkeydef(t.oid) else '' end
    || coalesce(' with (' || array_to_string(t.reloptions, ', ') || ')', '')
  from tables t
  union all
  select 'table ' || t.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when a.attnotnull then ' not null' else '' end
    || case when a.attidentity <> '' then ' identity' else '' end
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
  from tables t
  join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  union all
  select 'table ' || t.relname || ' constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid)
  from tables t join pg_constraint c on c.conrelid = t.oid
  where c.contype <> 'n'
  union all
  select 'index ' || i.indexname || ' on ' || i.tablename || ' ' || substring(i.indexdef from 'USING .*')
  from pg_indexes i join tables t on t.relname = i.tablename
  where i.schemaname = 'cronty'
  union all
  select 'view ' || c.relname || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
  from pg_class c where c.relnamespace = 'cronty'::regnamespace and c.relkind = 'v'
  union all
  select 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') returns ' || p.prorettype::regtype
    || case when p.prosecdef then ' security definer' else '' end
  from pg_proc p where p.pronamespace = 'cronty'::regnamespace
) lines
order by line collate "C"
