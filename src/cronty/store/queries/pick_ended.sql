-- Lock jobs that have no more slots, the last one before $1, the longest ago first. $2 and $3 the last slot and the job to
-- continue after, $4 how many. A job that is locked already is left to the next call.
select job_id, last_slot as ended_at, true as locked
from cronty.due
where next_at is null and held_slot is null and last_slot < $1 and (last_slot, job_id) > ($2::timestamptz, $3::bigint)
order by last_slot, job_id
limit $4
for update skip locked
