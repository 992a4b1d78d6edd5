-- What has no partition to be dropped with. $1 now, $2 seconds of history to keep.
with horizon as (
  select coalesce($1::timestamptz, statement_timestamp()) - $2::float8 * interval '1 second' as at
), attempts as (
  delete from cronty.attempts a using horizon h where a.scheduled_for < h.at returning 1
), usage as (
  delete from cronty.usage u using horizon h where u.since < h.at returning 1
), tasks as (
  delete from cronty.tasks t using horizon h where t.seen_at < h.at returning 1
)
select (select count(*) from attempts) + (select count(*) from tasks)
