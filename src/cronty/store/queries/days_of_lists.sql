-- The days of these lists, by owner and name, in pairs.
select c.owner_id, c.name, c.digest, c.days::text
from unnest($1::bigint[], $2::text[]) u(owner_id, name)
join cronty.calendars c on c.owner_id = u.owner_id and c.name = u.name
