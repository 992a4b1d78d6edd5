-- The attempts of one run that weren't its last. $1 job, $2 slot; whose it is has been asked already.
select attempt, started_at, ended_at, outcome, error from cronty.attempts where job_id = $1 and scheduled_for = $2 order by attempt
