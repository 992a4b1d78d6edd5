-- Delete these jobs, whose due rows are locked, with their arguments.
with gone as (
  delete from cronty.due d using unnest($1::bigint[]) u(job_id) where d.job_id = u.job_id returning d.job_id
)
delete from cronty.jobs j using unnest($1::bigint[]) u(job_id)
where j.id = u.job_id and (select count(*) from gone) >= 0
