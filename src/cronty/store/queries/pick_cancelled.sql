-- Jobs that were cancelled before $1, the longest ago first; their due rows are locked. $2 and $3 the time and the job to
-- continue after, $4 how many. A job isn't `locked` if another transaction has it, or if it has no due row because its
-- owner is being erased; it is skipped.
select j.id as job_id, j.updated_at as ended_at, d.job_id is not null as locked
from (
  select id, updated_at from cronty.jobs
  where state = 'cancelled' and deleted_at is null and updated_at < $1 and (updated_at, id) > ($2::timestamptz, $3::bigint)
  order by updated_at, id
  limit $4
) j
left join lateral (select job_id from cronty.due where job_id = j.id limit 1 for update skip locked) d on true
order by j.updated_at, j.id
