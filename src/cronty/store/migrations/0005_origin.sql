-- Who made a job, and through what: {"surface": "mcp", "client": {"name": …, "version": …}}; null if nobody said.
alter table cronty.jobs add column origin jsonb;
