-- The jobs of an owner that have this name, whatever its case, deleted or not: those that have not
-- ended first, and of those the latest.
select v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json,
  (select count(*) from cronty.runs r where r.owner_id = v.owner_id and r.job_id = v.id and r.state = 'running')
    + (select count(*) from cronty.queue q where q.job_id = v.id) as in_flight,
  cronty.retry_error(v.id) as retry_error, cronty.untaken_since(v.id, :now::timestamptz) as untaken_since
from cronty.every_job v
where v.owner_id = (select id from cronty.owners where name = :owner) and lower(v.name) = lower(:name)
  and (v.deleted_at is not null) = :deleted
order by v.next_slot is null and v.state <> 'paused', v.number desc
limit :rows
