-- Strike off the workers whose lease had passed at $1; which ones. What was held until then isn't extended by a look that
-- comes late itself, as after being frozen.
with struck as (
  delete from cronty.workers w where w.lease_until < $1::timestamptz returning w.id
), unasked as (
  delete from cronty.stop_requests s using struck w where s.worker = w.id
)
select id from struck
