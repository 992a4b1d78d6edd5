-- Months of the trail before $1 that are still in the database, the oldest first.
select to_date(substr(c.relname, 7), 'YYYYMM') as month
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'cronty.audit'::regclass and c.relname ~ '^audit_\d{6}$'
  and to_date(substr(c.relname, 7), 'YYYYMM') < $1::date
order by 1
