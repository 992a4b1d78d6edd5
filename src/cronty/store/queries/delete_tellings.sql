-- Delete tellings of runs of these jobs, at most $2.
delete from cronty.tellings
where ctid = any(array(
  select t.place
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select ctid as place from cronty.tellings where job_id = u.job_id limit $2) t
  limit $2))
