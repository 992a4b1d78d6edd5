-- Zones whose jobs are being moved to these rules, unless another engine is doing so. $1 names, $2 rules.
select z.name, z.through
from unnest($1::text[], $2::text[]) u(name, rules)
join cronty.zones z on z.name = u.name and z.rules = u.rules
where z.through is not null
for update of z skip locked
