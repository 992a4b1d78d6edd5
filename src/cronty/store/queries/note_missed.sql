-- Mark jobs as failed that ended without running their last slot, with the reason.
update cronty.jobs j set failures_in_row = j.failures_in_row + 1, last_error = u.error
from unnest($1::bigint[], $2::text[]) u(job_id, error)
where j.id = u.job_id
returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before, j.failures_in_row - 1 as failures_before,
  null as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
