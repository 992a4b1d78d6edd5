-- Delete the owner and its few other rows, after its jobs and its trail are gone. $1 the owner's id, $2 now.
with stops as (delete from cronty.stop_requests where owner_id = $1),
  alerts as (delete from cronty.alerts where owner_id = $1),
  absences as (delete from cronty.absences where owner_id = $1),
  tellings as (delete from cronty.tellings where owner_id = $1),
  presses as (delete from cronty.presses where owner_id = $1),
  -- what ntfy has and will send is kept until it is taken back, at most until its slot
  handed_over as (delete from cronty.handed_over where owner_id = $1 and not (there and scheduled_for > coalesce($2::timestamptz, statement_timestamp()))),
  starts as (delete from cronty.starts where owner_id = $1),
  usage as (delete from cronty.usage where owner_id = $1),
  calendars as (delete from cronty.calendars where owner_id = $1),
  channels as (delete from cronty.channels where owner_id = $1),
  keys as (delete from cronty.api_keys where owner_id = $1)
delete from cronty.owners where id = $1
