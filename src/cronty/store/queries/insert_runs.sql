-- Insert run rows of any kind: waiting ones, and verdicts that cover one slot or a range.
insert into cronty.runs (job_id, scheduled_for, followed_by, through, slots, owner_id, state, reason, finished_at)
select u.job_id, u.slot, u.followed_by, u.through, u.slots, u.owner_id, u.state::cronty.run_state, u.reason,
  case when u.state <> 'waiting' then $9::timestamptz end
from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::int[], $6::bigint[], $7::text[], $8::text[])
  u(job_id, slot, followed_by, through, slots, owner_id, state, reason)
