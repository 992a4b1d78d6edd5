-- Shorten a row that covers a range of slots to its first part; the others are inserted. $1 job, $2 its first slot, $3 through,
-- $4 how many slots, $5 the slot that follows, $6 the first slot of its last part, which is the end of the chain if the row was.
with cut as (
  update cronty.runs set through = $3, slots = $4, followed_by = $5 where job_id = $1 and scheduled_for = $2
)
update cronty.due set last_slot = $6 where job_id = $1 and last_slot = $2
