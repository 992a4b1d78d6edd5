select owner_id, name, key_id, sealed from cronty.channels where owner_id = $1 and name = $2
