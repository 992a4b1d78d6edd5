-- What follows when runs fail: the owner is told, the job is held, and the failed runs can be found and tried again.

-- Failed runs of an owner, for whoever looks into them; successes never enter it.
create index runs_dead on cronty.runs (owner_id, finished_at) where state in ('failed', 'quarantined');

-- An alert is a notification like any other, made in the very transaction that counts the failure: it can't be lost,
-- it is retried, and it has a run to look at. Its own failures raise no alert, because it has no such policy.
create function cronty.raise_alert() returns trigger language plpgsql as $$
declare
  failures text := new.failures_in_row || case when new.failures_in_row = 1 then ' time' else ' times in a row' end;
  headline text;
  said text;
  alert_id bigint;
begin
  if new.state = 'paused' and old.state <> 'paused' then
    headline := new.name || ' was paused';
    said := new.reason || coalesce('. The last error: ' || new.last_error, '');
  elsif new.failures_in_row = 0 then
    headline := new.name || ' works again';
    said := case old.failures_in_row when 0 then 'It had been paused.' when 1 then 'It had failed 1 time.'
      else 'It had failed ' || old.failures_in_row || ' times in a row.' end;
  else
    headline := new.name || ' failed ' || failures;
    said := coalesce(new.last_error, 'No error was recorded.');
  end if;
  insert into cronty.jobs (owner_id, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  values (new.owner_id, left('Alert: ' || headline, 200), 'notify',
    jsonb_build_object('args', '[]'::jsonb, 'kwargs', jsonb_build_object(
      'message', left(said, 1000), 'topic', new.policy ->> 'alert', 'title', left(headline, 200))),
    jsonb_build_object('kind', 'once', 'at', to_char(statement_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
    '{"attempts": 3, "catch_up_window": 316224000}', '{alert}', statement_timestamp(), statement_timestamp())
  returning id into alert_id;
  insert into cronty.due (job_id, owner_id, next_at, serial) values (alert_id, new.owner_id, statement_timestamp(), true);
  perform pg_notify('cronty', 'due ' || extract(epoch from statement_timestamp()));
  return null;
end $$;

-- Once each: the first failure, the one at which it is said again, being paused for them, and recovery.
create trigger alerts after update of failures_in_row, last_error, state on cronty.jobs for each row
when (new.policy ? 'alert' and (
  (old.failures_in_row = 0 and new.failures_in_row > 0)
  or (old.failures_in_row < coalesce((new.policy ->> 'alert_after')::int, 5)
    and new.failures_in_row >= coalesce((new.policy ->> 'alert_after')::int, 5))
  or (old.last_error is not null and new.last_error is null)
  or (old.state = 'active' and new.state = 'paused' and new.reason is not null)))
execute function cronty.raise_alert();
