-- Something outside asked to be left alone. $1 now, $2 limits, $3 for how many seconds.
update cronty.task_limits l
set held_until = coalesce($1::timestamptz, statement_timestamp()) + u.seconds * interval '1 second'
from unnest($2::text[], $3::float8[]) u(name, seconds)
where l.name = u.name and l.name = any($2::text[])
  and coalesce(l.held_until, '-infinity') < coalesce($1::timestamptz, statement_timestamp()) + u.seconds * interval '1 second'
