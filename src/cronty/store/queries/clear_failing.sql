-- A success resets the failures in a row.
with was as (
  select id, failures_in_row, last_error from cronty.jobs where id = any($1::bigint[]) and last_error is not null
  order by id for no key update
)
update cronty.jobs j set failures_in_row = 0, last_error = null
from was w
where j.id = w.id
returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before, w.failures_in_row as failures_before,
  w.last_error as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
