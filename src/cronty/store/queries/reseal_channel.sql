-- Only if the channel is unchanged: one that was replaced or removed meanwhile is left alone. What ntfy was given goes with it.
with handed as (
  update cronty.handed_over set key_id = $4, sealed = $5 where owner_id = $1 and channel = $2 and sealed = $3
)
update cronty.channels set key_id = $4, sealed = $5 where owner_id = $1 and name = $2 and sealed = $3
