-- Delete presses about runs of these jobs, at most $2.
delete from cronty.presses
where ctid = any(array(
  select t.place
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select ctid as place from cronty.presses where job_id = u.job_id limit $2) t
  limit $2))
