-- The rule changed: the last row of the chain is followed by another slot now.
update cronty.runs set followed_by = $3 where job_id = $1 and scheduled_for = $2
