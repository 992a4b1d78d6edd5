-- Lock an owner, so that no rows of its own can be added; whether it has jobs.
select exists (select from cronty.jobs j where j.owner_id = o.id) as has_jobs from cronty.owners o where o.id = $1 for update
