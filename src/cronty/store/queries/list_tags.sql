-- The tags of an owner's jobs and how many carry each, the most used first.
select tag, count(*) as jobs
from cronty.jobs j, unnest(j.tags) tag
where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
group by tag
order by jobs desc, tag
limit 100
