-- Lock a closed month; whether it still has to be archived. $1 the month's first day.
select archived_at is null from cronty.audit_months where month = $1::date for update
