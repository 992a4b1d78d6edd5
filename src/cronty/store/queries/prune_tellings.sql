-- Delete tellings of runs whose slot lies before $1, at most $2.
delete from cronty.tellings
where ctid = any(array(select t.ctid from cronty.tellings t where t.scheduled_for < $1 order by t.scheduled_for limit $2))
