select owner_id, count(*)::int as runs from cronty.runs where state = 'running' group by owner_id
