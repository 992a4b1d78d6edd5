-- Delete attempts at runs of these jobs, at most $2.
delete from cronty.attempts
where ctid = any(array(
  select a.place
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select ctid as place from cronty.attempts where job_id = u.job_id limit $2) a
  limit $2))
