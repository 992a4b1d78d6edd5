-- Drop a month of the trail that is in a file now. $1 its first day, $2 now, $3 how many entries, $4 the file's digest.
select cronty.drop_audit_month($1, $2, $3, $4)
