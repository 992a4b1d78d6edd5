-- Delete waiting runs of these jobs from the queue, at most $2.
delete from cronty.queue
where ctid = any(array(
  select q.place
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select ctid as place from cronty.queue where job_id = u.job_id limit $2) q
  limit $2))
