-- Where ntfy was given notifications that are still to be taken back.
select distinct owner_id, channel as name, key_id, sealed from cronty.handed_over where key_id <> $1 order by owner_id, channel
