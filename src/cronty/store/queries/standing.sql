-- What the scheduler must know before it makes a job: how much the owner has, and which run makes the request
-- (`making_run`). Also the job that was made with the idempotency :key, which of the :tasks exist, and which of them are not
-- for this owner; if :channels the names of its channels, and whether each has a URL still: a removed one keeps its name.
-- The count includes jobs that ended since the last recount.
select c.now, o.id as owner_id, o.zone, o.erasing_since is not null as erasing, o.limits::text, coalesce(o.live_jobs + r.jobs, 0) as jobs, coalesce(o.live_bytes + r.bytes, 0)::bigint as bytes,
  coalesce(r.jobs, 0) as uncounted, p.job_id, p.job_number, p.scheduled_for, p.depth,
  (select j.number from cronty.jobs j where j.owner_id = o.id and j.idempotency_key = :key and j.deleted_at is null) as made,
  (select j.request from cronty.jobs j where j.owner_id = o.id and j.idempotency_key = :key and j.deleted_at is null) as made_by,
  (select json_object_agg(t.name, t.parameters)::text from cronty.tasks t
    where t.name = any(:tasks::text[]) and (t.owners is null or t.owners ? :owner)) as tasks,
  array(select t.name from cronty.tasks t where t.name = any(:tasks::text[]) and not t.owners ? :owner) as not_for_owner,
  (select json_object_agg(h.name, h.sealed is not null)::text from cronty.channels h
    where :channels::boolean and h.owner_id = o.id) as channels
from (select coalesce(:now::timestamptz, statement_timestamp()) as now) c
left join cronty.owners o on o.name = :owner
left join lateral (
  select count(*) as jobs, coalesce(sum(x.size), 0) as bytes
  from (
    select pg_column_size(j.arguments) + pg_column_size(j.trigger) as size from cronty.jobs j
    where j.owner_id = o.id and j.created_at >= o.counted_at and j.deleted_at is null and not j.ended
    order by j.created_at
    limit 2000
  ) x
) r on true
left join lateral cronty.making_run(o.id, :job_id, :slot, :leased, :agent, c.now, :lease) p on true
