-- From now on these zones go by other rules, and their jobs have to be looked at. $1 now, $2 names, $3 the rules they
-- had, $4 the new ones, $5 their version.
update cronty.zones z
set rules = u.rules, version = $5, changed_at = coalesce($1::timestamptz, statement_timestamp()), through = 0
from unnest($2::text[], $3::text[], $4::text[]) u(name, had, rules)
where z.name = u.name and z.rules = u.had
