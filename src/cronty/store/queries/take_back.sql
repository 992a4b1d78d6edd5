-- Take back what isn't to ring as ntfy has it: its job was changed, stopped or deleted, its channel replaced, removed or isn't ahead any
-- more, its owner erased or given a limit of runs an hour. Of what has rung already, and had been changed before it did, only its owner can
-- be told, unless its run is yet to come. $1 now, $2 seconds after which no call is under way any more, $3 the usual limit of runs an hour.
-- Looks at the $5 messages after $4; returns the last of them, null if there were fewer. The limits of 1 make the lookups use keys.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), page as (
  select id from cronty.handed_over where id > $4::bigint order by id limit $5
), taken as (
  update cronty.handed_over h
  set state = 'taking', handed_at = null, failures = 0, error = null, due_at = least(greatest(h.due_at, k.now), k.now + make_interval(secs => $2::float8))
  from clock k, page p
  where h.id = p.id and h.state <> 'taking' and case
    when h.scheduled_for <= k.now then
      h.state = 'held'
      and (select true from cronty.delivered v where v.job_id = h.job_id and v.scheduled_for = h.scheduled_for limit 1) is null
      and (
        select true from cronty.due d where d.job_id = h.job_id and d.next_at - make_interval(secs => d.delay) <= h.scheduled_for limit 1
      ) is null
    else
      (select true from cronty.jobs j where j.id = h.job_id and j.version = h.version limit 1) is null
      or (
        select true from cronty.channels c
        join cronty.owners o on o.id = c.owner_id and o.erasing_since is null
          and coalesce(case when jsonb_typeof(o.limits->'runs_per_hour') = 'number' then (o.limits->>'runs_per_hour')::numeric end, $3) = 0
        where c.owner_id = h.owner_id and c.name = h.channel and c.ahead and c.sealed = h.sealed
        limit 1) is null
    end
)
select case when count(*) = $5 then max(id) end from page
