-- A run nobody planned: its slot is now, and it counts neither against max_runs nor in the chain of slots.
with run as (
  insert into cronty.runs (job_id, scheduled_for, owner_id, state, manual, reason)
  select job_id, $2, owner_id, 'waiting', true, 'asked for' from cronty.due where job_id = $1
), pointed as (
  update cronty.due
  set last_run = case when serial then last_run else $2 end, run_count = run_count + 1, manual_count = manual_count + 1
  where job_id = $1
)
select pg_notify('cronty', 'queue')
