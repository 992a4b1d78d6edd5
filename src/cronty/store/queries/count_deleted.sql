-- Go on counting the arguments and the rule of job $1, which is deleted now; if it was there at the last count, they are in it.
update cronty.owners o set live_bytes = o.live_bytes + pg_column_size(j.arguments) + pg_column_size(j.trigger)
from cronty.jobs j
where j.id = $1 and o.id = j.owner_id and j.created_at >= o.counted_at
