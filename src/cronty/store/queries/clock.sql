-- The moment it is, and the zone an owner thinks in, if the owner says so. $1 now, $2 owner.
select coalesce($1::timestamptz, statement_timestamp()) as now, (select zone from cronty.owners where name = $2) as zone
