delete from cronty.stop_requests where worker = $1 returning job_id, scheduled_for
