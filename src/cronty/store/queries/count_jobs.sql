-- How many of an owner's latest 10,000 jobs fail, wait for an agent, are paused, and have ended. The subselect is as in
-- `list_tags`, and the words mean what they mean in `list_jobs`.
with waiting as materialized (
  select distinct q.job_id from cronty.queue q
  where q.task = 'prompt' and q.owner_id = (select id from cronty.owners where name = $1) and q.due_at is not null
)
select count(*) filter (where j.state = 'set_aside' or (j.state = 'active' and (j.failures_in_row > 0
    or (select cronty.retry_error(q.job_id) from cronty.queue q where q.job_id = j.id limit 1) is not null))) as failing,
  count(*) filter (where j.id in (select job_id from waiting)) as waiting,
  count(*) filter (where j.state = 'paused') as paused,
  count(*) filter (where j.state = 'cancelled' or (j.state = 'active' and d.next_at is null)) as finished
from (
  select j.id, j.state, j.failures_in_row from cronty.jobs j
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
  order by j.number desc
  limit (select 10000)
) j
cross join lateral (select d.next_at from cronty.due d where d.job_id = j.id offset 0) d
