-- Take up retiming where it was left, unless somebody else is at it or it is done. $1 the version's number.
select retimed_through from cronty.tzdata where id = $1 and retimed_at is null for update skip locked
