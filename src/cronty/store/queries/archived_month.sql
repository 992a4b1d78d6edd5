-- The digest of the file of an archived month of the trail; null if it wasn't archived. $1 the month's first day.
select digest from cronty.audit_months where month = $1::date
