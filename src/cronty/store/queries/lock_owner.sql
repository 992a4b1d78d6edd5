-- Hold an owner still: nothing that belongs to it can be made meanwhile. Whether it has jobs.
select exists (select from cronty.jobs j where j.owner_id = o.id) as has_jobs from cronty.owners o where o.id = $1 for update
