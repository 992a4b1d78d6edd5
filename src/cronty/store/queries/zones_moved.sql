-- Record how far the jobs of these zones have been checked; null when all are ($4). Then it starts over if the rules
-- changed recently: an engine that didn't know yet may have used the old ones.
-- $1 now, $2 names, $3 through, $5 seconds after which every engine knows.
update cronty.zones
set through = case when not $4 then $3
  when changed_at > coalesce($1::timestamptz, statement_timestamp()) - $5::float8 * interval '1 second' then 0 end
where name = any($2::text[])
