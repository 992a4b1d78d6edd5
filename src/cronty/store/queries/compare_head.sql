-- What the trail has in place of a head that was kept. $1 owner, $2 number.
select coalesce(a.hash, case when c.number = $2 then c.hash end) as hash, h.number as last, c.number as archived,
  (select erasing_since is not null from cronty.owners where id = $1) is true
    or exists (select from cronty.audit e where e.owner_id = 0 and e.what = 'owner erased' and (e.after->>'owner')::bigint = $1)
    as erased
from (values ($1::bigint)) as wanted (owner_id)
left join cronty.audit_heads h using (owner_id)
left join cronty.audit_checkpoints c using (owner_id)
left join cronty.audit a on a.owner_id = wanted.owner_id and a.number = $2
