-- Delete what ntfy was given of runs of these jobs, at most $2.
delete from cronty.handed_over
where ctid = any(array(
  select t.place
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select ctid as place from cronty.handed_over where job_id = u.job_id limit $2) t
  limit $2))
