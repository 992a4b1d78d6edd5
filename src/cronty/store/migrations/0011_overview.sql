-- Runs by time, for whoever looks at a day of them or at what has just happened. Rows arrive in the order of time, so a
-- few numbers for each stretch of pages are enough, and a fire pays next to nothing for them.
create index runs_by_time on cronty.runs using brin (scheduled_for, started_at, finished_at)
  with (pages_per_range = 64, autosummarize = on);
