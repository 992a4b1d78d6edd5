-- The current time, and the owner's zone if it is set. $1 now, $2 owner.
select coalesce($1::timestamptz, statement_timestamp()) as now, (select zone from cronty.owners where name = $2) as zone
