-- Delete attempts at runs whose slot lies before $1, at most $2.
delete from cronty.attempts
where ctid = any(array(select a.ctid from cronty.attempts a where a.scheduled_for < $1 order by a.scheduled_for limit $2))
