-- What ntfy has been given of these jobs, as far as it is to come or still to be taken back. $1 now, $2 jobs.
select job_id, scheduled_for, channel, version, key_id, sealed, state, due_at, tries, error
from cronty.handed_over
where job_id = any($2) and (scheduled_for > coalesce($1::timestamptz, statement_timestamp()) or state = 'taking')
