-- Delete what ntfy was given of runs whose slot lies before $1, at most $2.
delete from cronty.handed_over
where ctid = any(array(select t.ctid from cronty.handed_over t where t.scheduled_for < $1 order by t.scheduled_for limit $2))
