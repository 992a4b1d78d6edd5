select owner_id, name, key_id, sealed from cronty.channels where sealed is not null and key_id <> $1 order by owner_id, name
