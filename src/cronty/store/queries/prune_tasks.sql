-- Delete tasks that no worker has published since $1.
delete from cronty.tasks where seen_at < $1 and name >= ''
