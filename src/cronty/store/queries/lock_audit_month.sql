-- Whether a closed month is still to be archived, asked by one at a time. $1 the month's first day.
select archived_at is null from cronty.audit_months where month = $1::date for update
