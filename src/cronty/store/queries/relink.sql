-- The trigger changed: the last run row is followed by another slot now.
update cronty.runs set followed_by = $3 where job_id = $1 and scheduled_for = $2
