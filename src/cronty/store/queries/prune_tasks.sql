-- Forget tasks that no worker has had since $1.
delete from cronty.tasks where seen_at < $1 and name >= ''
