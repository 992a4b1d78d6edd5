-- The first of $2 numbers for jobs of an owner, which nobody else gets; no row if there is no such owner.
select cronty.take_numbers(o.id, $2) from cronty.owners o where o.name = $1
