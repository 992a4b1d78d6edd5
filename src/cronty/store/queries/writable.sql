-- Whether this server accepts writes.
select pg_is_in_recovery() as replica, current_setting('transaction_read_only') = 'on' as read_only
