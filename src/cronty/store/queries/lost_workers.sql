-- Workers that hold runs and aren't listed.
select distinct r.worker from cronty.runs r
where r.state = 'running' and not exists (select from cronty.workers w where w.id = r.worker)
