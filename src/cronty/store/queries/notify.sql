select pg_notify('cronty', $1)
