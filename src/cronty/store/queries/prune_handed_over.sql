-- Delete what ntfy was given of slots before $1 whose runs have ended, at most $2. What may have rung and shouldn't have is first told, unless
-- nobody has done so for a week. The limits of 1 make the lookups use keys.
delete from cronty.handed_over
where ctid = any(array(
  select h.ctid from cronty.handed_over h
  where h.scheduled_for < $1
    and (
      h.scheduled_for < $1 - interval '7 days'
      or h.due_at is null and (
        h.state <> 'held'
        or (select true from cronty.delivered v where v.job_id = h.job_id and v.scheduled_for = h.scheduled_for limit 1)))
    and (
      select true from cronty.runs r
      where r.job_id = h.job_id and r.scheduled_for = h.scheduled_for and r.state in ('waiting', 'running')
      limit 1) is null
    and (
      select true from cronty.due d where d.job_id = h.job_id and d.next_at - make_interval(secs => d.delay) <= h.scheduled_for limit 1
    ) is null
  order by h.scheduled_for
  limit $2))
