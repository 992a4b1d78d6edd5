-- The ends of all chains to which something was added since $1, which is null for all.
select owner_id, number, hash, sealed_at from cronty.audit_heads
where $1::timestamptz is null or sealed_at >= $1
order by owner_id
