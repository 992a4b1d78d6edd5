-- Delete counts of hours and days before $1, at most $2.
delete from cronty.usage
where ctid = any(array(select u.ctid from cronty.usage u where u.since < $1 order by u.since limit $2))
