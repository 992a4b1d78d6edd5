-- How many runs of an owner living workers are asked to stop. $1 the owner's id.
select count(*) from cronty.stop_requests s join cronty.workers w on w.id = s.worker where s.owner_id = $1
