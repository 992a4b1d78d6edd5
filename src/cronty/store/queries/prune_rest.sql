-- What has no partition to be dropped with. $1 now, $2 seconds of history to keep, $3 how many attempts at most; how many.
with horizon as (
  select coalesce($1::timestamptz, statement_timestamp()) - $2::float8 * interval '1 second' as at
), attempts as (
  delete from cronty.attempts
  where ctid = any(array(
    select a.ctid from cronty.attempts a where a.scheduled_for < (select at from horizon) order by a.scheduled_for limit $3))
  returning 1
), usage as (
  delete from cronty.usage u using horizon h where u.since < h.at returning 1
), tasks as (
  delete from cronty.tasks t using horizon h where t.seen_at < h.at returning 1
)
select count(*) from attempts
