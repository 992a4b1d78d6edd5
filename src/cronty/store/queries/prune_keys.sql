-- Delete keys that ended before $1, at most $2. The last key of an owner stays, so that no number is given twice, and so does a
-- key until its jobs are paused.
delete from cronty.api_keys
where id = any(array(
  select k.id from cronty.api_keys k
  where least(k.revoked_at, k.expires_at) < $1
    and exists (select from cronty.api_keys later where later.owner_id = k.owner_id and later.number > k.number)
    and not exists (select from cronty.jobs j where j.key_id = k.id and j.state = 'active')
  order by least(k.revoked_at, k.expires_at)
  limit $2))
