-- Worker ids of running runs that aren't in the table of workers.
select distinct r.worker from cronty.runs r
where r.state = 'running' and not exists (select from cronty.workers w where w.id = r.worker)
