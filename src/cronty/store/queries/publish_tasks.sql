insert into cronty.tasks (name, parameters, doc, seen_at)
select u.name, u.parameters::json, u.doc, coalesce($1::timestamptz, statement_timestamp())
from unnest($2::text[], $3::text[], $4::text[]) u(name, parameters, doc)
on conflict (name) do update set parameters = excluded.parameters, doc = excluded.doc, seen_at = excluded.seen_at
