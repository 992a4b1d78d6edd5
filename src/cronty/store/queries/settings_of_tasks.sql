-- What workers have said of these tasks ($1), and whether the one that had the last word lives.
select t.name, t.settings::text, t.said_at, exists (select from cronty.workers w where w.id = t.said_by) as by_living
from cronty.tasks t
where t.name = any($1::text[]) and t.said_at is not null
