-- An owner's jobs that need attention, the latest first, and how many there are; for one that fails the slot that failed
-- last. $1 owner, $2 the moment, $3 how many, $4 the agent that asks: of prompts for others it gets no error.
select c.job_number, c.name, c.kind, c.what, c.since, c.task, c.failures, c.ended, c.total, f.scheduled_for as failed_slot
from (
  select c.*, count(*) over () as total
  from (
    select j.id, j.number as job_number, j.name, j.task, j.failures_in_row as failures, d.next_at is null as ended,
      case when j.state = 'set_aside' then 'set_aside' when j.state = 'paused' then 'paused'
        when d.overdue then 'overdue' when a.error is not null then 'retrying' else 'failing' end as kind,
      case when j.state in ('set_aside', 'paused') then j.reason
        when not cronty.is_anothers($4, j.task, j.arguments, j.origin) then coalesce(a.error, j.last_error) end as what,
      case when j.state in ('set_aside', 'paused') then j.updated_at when d.overdue then d.next_at else d.last_run end as since
    from cronty.jobs j
    cross join lateral (
      select d.next_at, d.last_run, d.next_at < coalesce($2::timestamptz, statement_timestamp()) - interval '1 minute' as overdue
      from cronty.due d
      where d.job_id = j.id
      offset 0
    ) d
    left join lateral (select cronty.retry_error(q.job_id) as error from cronty.queue q where q.job_id = j.id limit 1) a on true
    where j.owner_id = (select id from cronty.owners where name = $1) and j.deleted_at is null
      and (j.state = 'set_aside' or (j.state = 'paused' and j.reason is not null)
        or (j.state = 'active' and (j.failures_in_row > 0 or d.overdue or a.error is not null)))
  ) c
  order by c.since desc nulls last, c.job_number
  limit $3
) c
left join lateral (
  select r.scheduled_for from cronty.runs r
  where r.job_id = c.id and r.state in ('failed', 'quarantined') and c.failures > 0
  order by r.scheduled_for desc
  limit 1
) f on true
order by c.since desc nulls last, c.job_number
