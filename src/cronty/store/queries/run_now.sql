-- A manual run: its slot is $2, and it counts neither against max_runs nor in the chain of slots. 0 if the job already has
-- a run with that slot.
with run as (
  insert into cronty.runs (job_id, scheduled_for, owner_id, state, manual, reason)
  select d.job_id, $2, d.owner_id, 'waiting', true, 'asked for'
  from cronty.due d
  where d.job_id = $1 and $2 is distinct from coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot)
  on conflict do nothing
  returning job_id
), pointed as (
  update cronty.due d
  set last_run = case when d.serial then d.last_run else $2 end, run_count = d.run_count + 1, manual_count = d.manual_count + 1
  from run r where d.job_id = r.job_id
)
select count(pg_notify('cronty', 'queue')) from run
