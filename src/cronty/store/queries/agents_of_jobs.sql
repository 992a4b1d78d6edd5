-- The agents that an owner's prompts wake, '' for any agent. $1 owner, $2 numbers of jobs.
select distinct coalesce(j.arguments -> 'kwargs' ->> 'agent', substr(j.task, length('prompt:') + 1)) as agent
from cronty.jobs j
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = any($2::bigint[])
  and (j.task = 'prompt' or starts_with(j.task, 'prompt:'))
