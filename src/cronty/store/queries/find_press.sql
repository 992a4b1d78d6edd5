-- An owner's reminder and what was pressed under it; none if its job was cancelled before its time. `key_ended`: it was made with a key that isn't good any more. $1 now, $2 its owner,
-- $3 its job, $4 its slot.
select j.number, j.name, j.arguments::text, j.key_id, j.origin->>'agent' as agent, p.act, p.until, k.now,
  j.key_id is not null and not exists (
    select from cronty.api_keys a
    where a.id = j.key_id and a.owner_id = j.owner_id and a.revoked_at is null and (a.expires_at is null or a.expires_at > k.now)
  ) as key_ended
from (select coalesce($1::timestamptz, statement_timestamp()) as now) k
join cronty.owners o on o.name = $2
join cronty.jobs j on j.id = $3 and j.owner_id = o.id
left join cronty.presses p on p.job_id = j.id and p.scheduled_for = $4
where j.task = 'notify' and j.deleted_at is null and not (j.state = 'cancelled' and j.updated_at < $4)
