-- Seal new entries of the trail. $1 how many at most, $2 whether to wait for another session that is sealing, $3 now,
-- $4 only the entries of this owner (null: all).
select case when $4::text is null then cronty.seal_audit($1, $2, $3, null)
  else coalesce((select cronty.seal_audit($1, $2, $3, o.id) from cronty.owners o where o.name = $4), 0) end
