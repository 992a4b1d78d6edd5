select v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json,
  (select count(*) from cronty.runs r where r.owner_id = v.owner_id and r.job_id = v.id and r.state = 'running')
    + (select count(*) from cronty.queue q where q.job_id = v.id) as in_flight,
  cronty.retry_error(v.id) as retry_error, cronty.untaken_since(v.id, $3) as untaken_since,
  coalesce($3::timestamptz, statement_timestamp()) as now
from cronty.every_job v
where v.owner_id = (select id from cronty.owners where name = $1) and v.number = $2 and (v.deleted_at is not null) = $4
