-- Close a month, so that no more entries are sealed into it; false if it isn't over. $1 the month's first day, $2 now.
select cronty.close_audit_month($1, $2)
