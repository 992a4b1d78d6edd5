-- Forget starts of long ago ($1) whose run has ended: nothing was claimed under their limit since.
delete from cronty.starts s
where s.started_at < $1 and s.limit_name >= '' and not exists (
  select from cronty.runs r where r.job_id = s.job_id and r.scheduled_for = s.scheduled_for and r.state = 'running')
