-- Take $2 numbers for jobs of an owner; the first of them. No row if there is no such owner.
select cronty.take_numbers(o.id, $2) from cronty.owners o where o.name = $1
