-- An owner's deleted jobs, the latest first. $1 owner, $2 how many, $3 only those deleted before this.
select v.*, v.arguments::text as arguments_json, v.trigger::text as trigger_json, v.policy::text as policy_json, 0 as in_flight, null as retry_error, null::timestamptz as untaken_since
from cronty.every_job v
where v.owner_id = (select id from cronty.owners where name = $1) and v.deleted_at < coalesce($3::timestamptz, 'infinity')
order by v.deleted_at desc, v.number desc
limit $2
