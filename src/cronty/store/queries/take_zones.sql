-- Give these zones new rules; their jobs have to be checked. $1 now, $2 names, $3 the old rules, $4 the new rules,
-- $5 the tzdata version of the new ones.
update cronty.zones z
set rules = u.rules, version = $5, changed_at = coalesce($1::timestamptz, statement_timestamp()), through = 0,
  skipped = null
from unnest($2::text[], $3::text[], $4::text[]) u(name, had, rules)
where z.name = u.name and z.rules = u.had
