-- Settle a reminder by the first button that is pressed, and write it into the trail. $1 now, $2 job, $3 slot, $4 button, $5 until
-- when it is snoozed, $6 actor, $7 client, $8 the run's id, $9 its owner.
with pressed as (
  insert into cronty.presses (job_id, scheduled_for, owner_id, act, pressed_at, until)
  select j.id, $3, j.owner_id, $4, coalesce($1::timestamptz, statement_timestamp()), $5
  from cronty.jobs j join cronty.owners o on o.id = j.owner_id
  where j.id = $2 and o.name = $9 and j.deleted_at is null
  on conflict do nothing
  returning *
)
insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, actor, client, after)
select p.pressed_at, p.owner_id, j.id, j.number, case p.act when 'done' then 'reminder done' else 'reminder snoozed' end,
  $6::jsonb, $7::jsonb, jsonb_strip_nulls(jsonb_build_object('run_id', $8::text, 'button', p.act, 'until', p.until))
from pressed p join cronty.jobs j on j.id = p.job_id
