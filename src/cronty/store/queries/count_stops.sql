-- How many stop requests for an owner's runs live workers haven't met yet. $1 the owner's id.
select count(*) from cronty.stop_requests s join cronty.workers w on w.id = s.worker where s.owner_id = $1
