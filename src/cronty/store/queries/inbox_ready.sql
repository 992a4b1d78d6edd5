-- Which of the owners $2 have a prompt that could be read only for the last $3 seconds. $1 now.
select o.name
from cronty.owners o
where o.name = any($2::text[]) and exists (
  select from cronty.queue q
  where q.task = 'prompt' and q.owner_id = o.id and q.due_at <= coalesce($1::timestamptz, statement_timestamp())
    and q.due_at > coalesce($1::timestamptz, statement_timestamp()) - $3::float8 * interval '1 second')
