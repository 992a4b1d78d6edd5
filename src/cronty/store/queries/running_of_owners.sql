-- How many runs these owners have running; owners without any are left out.
select owner_id, count(*)::int as runs from cronty.runs where state = 'running' and owner_id = any($1::bigint[]) group by owner_id
