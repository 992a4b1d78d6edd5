-- Expire runs that `lock_expired` has locked in the queue. $1 now, $2 jobs, $3 slots, $4 reasons. Returns the jobs that ended so.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), taken as (
  select * from unnest($2::bigint[], $3::timestamptz[], $4::text[]) t(job_id, scheduled_for, reason)
), unqueued as (
  delete from cronty.queue q
  using taken t
  cross join lateral (
    select ctid as place from cronty.queue where job_id = t.job_id and scheduled_for = t.scheduled_for limit 1
  ) k
  where q.ctid = k.place
), expired as (
  update cronty.runs r set state = 'missed', reason = t.reason, finished_at = c.now
  from clock c, unnest($2::bigint[], $3::timestamptz[], $4::text[]) t(job_id, scheduled_for, reason)
  where r.job_id = t.job_id and r.scheduled_for = t.scheduled_for
), noted as (
  -- They were counted when they fired, but aren't successes. A job that ended with one has failed, for that reason.
  update cronty.jobs j
  set cancelled_count = j.cancelled_count + t.runs,
    failures_in_row = j.failures_in_row + t.ended, last_error = case when t.ended > 0 then 'missed: ' || t.reason else j.last_error end
  from (
    select x.job_id, count(*) as runs, max(x.reason) as reason, max(d.ended) as ended
    from taken x
    cross join lateral (
      select (next_at is null and held_slot is null)::int as ended from cronty.due where job_id = x.job_id limit 1
    ) d
    group by x.job_id
  ) t
  where j.id = t.job_id
  returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before,
    j.failures_in_row - t.ended as failures_before, null as error_before, j.state::text, j.failures_in_row, j.last_error,
    j.reason, t.ended
)
select * from noted where ended > 0
