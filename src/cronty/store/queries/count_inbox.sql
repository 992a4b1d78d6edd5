-- How many prompts of an owner wait for an agent, at most $3 counted. $1 owner, $2 whose (null: any).
select count(*) from (
  select from cronty.queue q
  where q.task = 'prompt' and q.owner_id = (select id from cronty.owners where name = $1) and q.due_at is not null
    and ($2::text is null
      or coalesce((select j.arguments -> 'kwargs' ->> 'agent' from cronty.jobs j where j.id = q.job_id), $2) = $2)
  limit $3
) q
