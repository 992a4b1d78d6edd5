-- Partitions of the table $1 that the index $2 doesn't cover yet.
select c.relname
from pg_partition_tree($1::text::regclass) t
join pg_class c on c.oid = t.relid
where t.isleaf and t.level > 0 and not exists (
  select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
  where i.inhparent = $2::text::regclass and x.indrelid = t.relid)
order by c.relname
