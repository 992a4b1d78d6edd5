-- How far the jobs of these zones have been looked at; null, that is all of them, when the end is reached ($4). Once more
-- from the start if the rules changed only lately: an engine that hadn't heard may have gone on by the old ones.
-- $1 now, $2 names, $3 through, $5 seconds within which every engine has heard.
update cronty.zones
set through = case when not $4 then $3
  when changed_at > coalesce($1::timestamptz, statement_timestamp()) - $5::float8 * interval '1 second' then 0 end
where name = any($2::text[])
