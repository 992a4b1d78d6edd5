-- The tags of an owner's latest 10,000 jobs and how many have each, the most used first.
-- The planner can't see the limit in a subselect and expects to stop early, so it reads the index by number backwards.
select tag, count(*) as jobs
from (
  select j.tags from cronty.jobs j
  where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
  order by j.number desc
  limit (select 10000)
) j, unnest(j.tags) tag
group by tag
order by jobs desc, tag
limit 100
