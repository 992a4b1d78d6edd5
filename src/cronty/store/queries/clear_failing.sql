-- A success ends a row of failures.
update cronty.jobs set failures_in_row = 0, last_error = null where id = any($1::bigint[]) and last_error is not null
