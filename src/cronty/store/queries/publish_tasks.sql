insert into cronty.tasks (name, parameters, doc, owners, seen_at)
select u.name, u.parameters::json, u.doc, u.owners::jsonb, coalesce($1::timestamptz, statement_timestamp())
from unnest($2::text[], $3::text[], $4::text[], $5::text[]) u(name, parameters, doc, owners)
on conflict (name) do update
  set parameters = excluded.parameters, doc = excluded.doc, owners = excluded.owners, seen_at = excluded.seen_at
