-- Which of the keys $2 are no longer good. $1 now.
select w.id
from unnest($2::bigint[]) w(id)
left join cronty.api_keys k on k.id = w.id
left join cronty.owners o on o.id = k.owner_id
where o.id is null or o.erasing_since is not null or k.revoked_at is not null
  or k.expires_at <= coalesce($1::timestamptz, statement_timestamp())
