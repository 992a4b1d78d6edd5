update cronty.handed_over set key_id = $4, sealed = $5 where owner_id = $1 and channel = $2 and sealed = $3
