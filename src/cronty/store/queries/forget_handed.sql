-- Forget what was taken back, or can't be any more. $1 jobs, $2 slots. The limit of 1 makes the lookup use the key.
delete from cronty.handed_over
where ctid = any(array(
  select t.place
  from unnest($1::bigint[], $2::timestamptz[]) u(job_id, slot)
  cross join lateral (
    select ctid as place from cronty.handed_over h where h.job_id = u.job_id and h.scheduled_for = u.slot limit 1
  ) t))
