-- The second wall between owners: whoever works as `cronty_app` meets only the rows of the owner that the transaction
-- names in `cronty.owner`, whatever the statement asks for; without a name, none. The engine works for all owners as
-- `cronty_engine`, and doesn't see what it doesn't need.
--
-- `migrate` runs this when it or the schema has changed, and as long as there is no wall: this file is the whole truth
-- about it. Where roles can't be made (a managed PostgreSQL may refuse), there is none, and `cronty doctor` says so.
--
-- It commits as it goes and can be run again: changing a policy keeps everybody out of its table until the commit, so it
-- is done one table at a time, and only where the policy is another than the one written down in its comment.
do $$
declare
  asked constant text := case when current_setting('server_version_num')::int < 160000 then 'MEMBER' else 'SET' end;
  mine constant text := '(select o.id from cronty.owners o where o.name = nullif(current_setting(''cronty.owner'', true), ''''))';
  about_theirs constant text := 'exists (select from cronty.jobs j where j.id = job_id)'; -- among those that are met
  named name;
  seen text;
  written text;
  rule text;
begin
  foreach named in array array['cronty_app', 'cronty_engine'] loop
    begin
      if not exists (select from pg_roles where rolname = named) then
        execute format('create role %I nologin', named);
      end if;
    exception
      when duplicate_object or unique_violation then null; -- somebody else, for another database, just now
      when insufficient_privilege then return;
    end;
    begin
      if not pg_has_role(current_user, named, asked) then
        execute format('grant %I to current_user', named);
      end if;
    exception when insufficient_privilege then return;
    end;
    if exists (select from pg_roles where rolname = named and (rolsuper or rolbypassrls)) then
      return; -- it would see through every wall
    end if;
  end loop;

  -- Who may do what, at all.
  revoke all on all tables in schema cronty from cronty_app, cronty_engine;
  grant usage on schema cronty to cronty_app, cronty_engine;
  grant select on cronty.migrations, cronty.server, cronty.tasks to cronty_app, cronty_engine;

  grant select, insert on cronty.owners, cronty.attempts to cronty_app;
  grant select, insert, update on cronty.jobs, cronty.due, cronty.runs, cronty.channels to cronty_app;
  grant select, insert, update (through) on cronty.zones to cronty_app;
  grant select, insert, update, delete on cronty.queue to cronty_app;
  grant select, insert, update on cronty.usage to cronty_app;
  grant update (live_jobs, live_bytes, counted_at, next_number) on cronty.owners to cronty_app;
  grant select on cronty.every_job, cronty.job_overview to cronty_app;
  grant insert on cronty.stop_requests, cronty.alerts, cronty.audit_unsealed to cronty_app;
  grant select on cronty.audit, cronty.audit_heads, cronty.audit_checkpoints to cronty_app;
  grant select (id, owner_id, number, name, scopes, agent, created_at, expires_at, last_used_at, revoked_at), insert,
    update (last_used_at, revoked_at) on cronty.api_keys to cronty_app;
  grant execute on function cronty.find_key(bigint, timestamptz) to cronty_app;

  grant select on cronty.owners, cronty.channels to cronty_engine;
  grant update (next_number) on cronty.owners to cronty_engine;
  grant select, insert, update, delete on cronty.jobs, cronty.due, cronty.runs to cronty_engine;
  grant select, insert, update on cronty.zones to cronty_engine;
  grant select, insert, update, delete on cronty.queue, cronty.attempts, cronty.workers, cronty.tasks, cronty.usage,
    cronty.alerts to cronty_engine;
  grant select, insert, delete on cronty.stop_requests to cronty_engine;
  grant insert on cronty.audit_unsealed to cronty_engine;
  grant select (id, name, expires_at, revoked_at) on cronty.api_keys to cronty_engine;
  grant execute on function cronty.make_run_partition(timestamptz), cronty.make_audit_partition(timestamptz)
    to cronty_app, cronty_engine;
  grant execute on function cronty.seal_audit(int, boolean, timestamptz, bigint) to cronty_engine;
  grant execute on function cronty.drop_run_partition(timestamptz, timestamptz) to cronty_engine;

  commit;

  -- Whose rows they meet. A sub-select is asked once per statement, not once per row. What is written about a job is
  -- written about one of their own.
  for named, seen, written in values
    ('owners', 'name = nullif(current_setting(''cronty.owner'', true), '''')', null),
    -- `is true`: a check and no way to find rows, so that nobody looks for a job by its id among all of its owner's.
    ('jobs', '(owner_id = ' || mine || ') is true', null),
    ('due', 'owner_id = ' || mine, null),
    ('runs', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('queue', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('channels', 'owner_id = ' || mine, null),
    ('api_keys', 'owner_id = ' || mine, null),
    ('audit_unsealed', 'owner_id = ' || mine, null), -- also about a job that the same statement makes, not to be seen yet
    ('audit', 'owner_id = ' || mine, null),
    ('usage', 'owner_id = ' || mine, null),
    ('alerts', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and (job_id = 0 or ' || about_theirs || ')'),
    ('audit_heads', 'owner_id = ' || mine, null),
    ('audit_checkpoints', 'owner_id = ' || mine, null),
    ('attempts', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('stop_requests', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs)
  loop
    rule := format('create policy own_rows on cronty.%I to cronty_app using (%s) with check (%s)',
      named, seen, coalesce(written, seen));
    continue when exists (
      select from pg_class c join pg_policy p on p.polrelid = c.oid and p.polname = 'own_rows'
      where c.oid = format('cronty.%I', named)::regclass and c.relrowsecurity and obj_description(p.oid, 'pg_policy') = rule);
    execute format('alter table cronty.%I enable row level security', named);
    execute format('drop policy if exists own_rows on cronty.%I', named);
    execute rule;
    execute format('drop policy if exists all_rows on cronty.%I', named);
    execute format('create policy all_rows on cronty.%I to cronty_engine using (true)', named);
    execute format('comment on policy own_rows on cronty.%I is %L', named, rule);
    commit;
  end loop;
end $$;
