-- Replace public holidays of all owners; where the days are other ones now, the jobs have yet to follow. $1 name, $2 the
-- old source, $3 now, $4 days, $5 their digest, $6 the new source.
update cronty.calendars
set days = $4::jsonb, digest = $5, source = $6, updated_at = coalesce($3::timestamptz, statement_timestamp()),
  moving = moving or digest <> $5
where name = $1 and source = $2
