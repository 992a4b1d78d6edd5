-- Move jobs whose next slot is another one by a new version of tzdata or a changed list of days off, with an entry in the
-- trail for each. $1 now, $2 jobs, $3 owners, $4 old slots, $5 new slots, $6 the rows they follow, $7 what moved them,
-- $8 actor, $9 client.
with moves as (
  select * from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[])
    u(job_id, owner_id, old_slot, new_slot, last_slot)
), relinked as (
  update cronty.runs r set followed_by = m.new_slot
  from moves m
  where r.job_id = m.job_id and r.scheduled_for = m.last_slot
), moved as (
  update cronty.due d
  set next_at = case when d.next_at is not null then m.new_slot + make_interval(secs => d.delay) end,
    held_slot = case when d.next_at is null then m.new_slot end
  from moves m
  where d.job_id = m.job_id
)
insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, actor, client, before, after)
select coalesce($1::timestamptz, statement_timestamp()), m.owner_id, m.job_id, j.number, $7, $8::jsonb, $9::jsonb,
  jsonb_build_object('next_slot', m.old_slot), jsonb_build_object('next_slot', m.new_slot)
from moves m
join cronty.jobs j on j.id = m.job_id
