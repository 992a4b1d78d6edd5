-- Number and chain what the trail has gained. $1 how many entries at most, $2 whether to wait for another who does so.
select cronty.seal_audit($1, $2)
