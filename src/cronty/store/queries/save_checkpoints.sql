-- Save checkpoints, from which the rest of these chains continue. $1 the month's first day, $2 owners, $3 numbers,
-- $4 hashes, $5 how many entries, $6 signatures, $7 the key's id. Owners that were erased meanwhile
-- are left out; the lock on an owner makes its erasure wait, which then deletes the checkpoint. 0 is the installation.
with held as (
  select o.id from cronty.owners o where o.id = any($2::bigint[]) order by o.id for key share
)
insert into cronty.audit_checkpoints (owner_id, month, number, hash, count, signature, key_id)
select u.owner_id, $1::date, u.number, u.hash, u.count, u.signature, $7
from unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[]) u(owner_id, number, hash, count, signature)
where u.owner_id = 0 or u.owner_id in (select id from held)
on conflict (owner_id) do update
set month = excluded.month, number = excluded.number, hash = excluded.hash, count = excluded.count,
  signature = excluded.signature, key_id = excluded.key_id
