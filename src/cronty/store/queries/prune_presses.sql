-- Delete presses about runs whose slot lies before $1, at most $2.
delete from cronty.presses
where ctid = any(array(select t.ctid from cronty.presses t where t.scheduled_for < $1 order by t.scheduled_for limit $2))
