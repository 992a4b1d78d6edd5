-- How the telling of a run's result stands. $1 owner, $2 the job's number, $3 the slot.
select t.state, t.tries, coalesce(t.channel, j.policy ->> 'tell', '') as channel, t.error, t.told_at
from cronty.jobs j
join cronty.tellings t on t.job_id = j.id and t.scheduled_for = $3
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = $2
