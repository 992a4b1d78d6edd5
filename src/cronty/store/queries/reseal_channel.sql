-- Only if the channel is unchanged: one that was replaced or removed meanwhile is left alone.
update cronty.channels set key_id = $4, sealed = $5 where owner_id = $1 and name = $2 and sealed = $3
