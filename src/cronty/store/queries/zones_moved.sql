-- Record how far the jobs of these zones have been checked; null when all are ($4). Then it starts over if the rules
-- changed recently: an engine that didn't know yet may have used the old ones. Else it goes back to the first job that was
-- locked, if there was one.
-- $1 now, $2 names, $3 through, $5 seconds after which every engine knows, $6 the first of these jobs that was locked.
update cronty.zones
set through = case when not $4 then $3
    when changed_at > coalesce($1::timestamptz, statement_timestamp()) - $5::float8 * interval '1 second' then 0
    else least(skipped, $6) - 1 end,
  skipped = case when not $4 then least(skipped, $6) end
where name = any($2::text[])
