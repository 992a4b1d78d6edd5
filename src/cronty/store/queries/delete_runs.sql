-- Delete runs of these jobs, at most $2.
with picked as (
  select u.job_id, r.scheduled_for
  from unnest($1::bigint[]) u(job_id)
  cross join lateral (select scheduled_for from cronty.runs where job_id = u.job_id limit $2) r
  limit $2
)
delete from cronty.runs r using picked p where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for
