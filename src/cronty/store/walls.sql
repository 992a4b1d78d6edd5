-- The walls between owners: row-level security, as a second line of defense. The role `cronty_app` sees only the rows of
-- the owner in the setting `cronty.owner`, whatever the statement asks for; without an owner it sees none. Engines use the
-- role `cronty_engine`, which sees all owners, but only the tables and columns it needs.
--
-- `migrate` runs this file when it or the schema has changed, and when something of the walls is missing. Everything about them
-- is in this file. If roles can't be created (a managed PostgreSQL may refuse), there are no walls, and `cronty doctor`
-- says so.
--
-- It commits as it goes and can be run again. Changing a policy locks its table until the commit, so it is done for one
-- table at a time, and only if its policies differ from these: in the comment on the first are its text, and a digest of what
-- PostgreSQL made of it.
do $$
declare
  asked constant text := case when current_setting('server_version_num')::int < 160000 then 'MEMBER' else 'SET' end;
  mine constant text := '(select o.id from cronty.owners o where o.name = nullif(current_setting(''cronty.owner'', true), ''''))';
  about_theirs constant text := 'exists (select from cronty.jobs j where j.id = job_id)'; -- only own jobs are visible
  named name;
  seen text;
  written text;
  rule text;
  stranger name;
begin
  foreach named in array array['cronty_app', 'cronty_engine'] loop
    begin
      if not exists (select from pg_roles where rolname = named) then
        execute format('create role %I nologin', named);
      end if;
    exception
      when duplicate_object or unique_violation then null; -- another database's migration just created it
      when insufficient_privilege then return;
    end;
    begin
      if not pg_has_role(current_user, named, asked) then
        execute format('grant %I to current_user', named);
      end if;
    exception when insufficient_privilege then return;
    end;
    if exists (select from pg_roles where rolname = named and (rolsuper or rolbypassrls)) then
      return; -- row-level security wouldn't apply to it
    end if;
  end loop;

  -- The rights of the two roles.
  revoke all on all tables in schema cronty from cronty_app, cronty_engine;
  grant usage on schema cronty to cronty_app, cronty_engine;
  grant select on cronty.migrations, cronty.server, cronty.tasks to cronty_app, cronty_engine;

  grant select, insert on cronty.owners, cronty.attempts to cronty_app;
  grant select, insert, update on cronty.jobs, cronty.due, cronty.runs, cronty.channels to cronty_app;
  grant select, insert, update, delete on cronty.calendars to cronty_app;
  grant select, insert, update (through) on cronty.zones to cronty_app;
  grant select, insert, update, delete on cronty.queue to cronty_app;
  grant select, insert, update on cronty.usage to cronty_app;
  grant update (zone, live_jobs, live_bytes, counted_at, next_number) on cronty.owners to cronty_app;
  grant select on cronty.every_job, cronty.job_overview to cronty_app;
  grant select, insert, update on cronty.tellings to cronty_app;
  grant select, insert on cronty.presses to cronty_app;
  grant select on cronty.handed_over, cronty.delivered to cronty_app;
  grant insert on cronty.stop_requests, cronty.alerts, cronty.audit_unsealed to cronty_app;
  grant select on cronty.audit, cronty.audit_heads, cronty.audit_checkpoints to cronty_app;
  grant select (id, owner_id, number, name, scopes, agent, parent_id, created_at, expires_at, last_used_at, revoked_at), insert,
    update (last_used_at, revoked_at) on cronty.api_keys to cronty_app;
  grant execute on function cronty.find_key(bigint, timestamptz) to cronty_app;

  grant select on cronty.owners, cronty.channels to cronty_engine;
  grant select, update on cronty.calendars to cronty_engine;
  grant update (next_number) on cronty.owners to cronty_engine;
  grant select, insert, update, delete on cronty.jobs, cronty.due, cronty.runs to cronty_engine;
  grant select, insert, update on cronty.zones to cronty_engine;
  grant select, insert, update, delete on cronty.queue, cronty.attempts, cronty.workers, cronty.tasks, cronty.usage,
    cronty.alerts, cronty.absences, cronty.tellings, cronty.handed_over, cronty.task_limits, cronty.starts to cronty_engine;
  grant select, insert, delete on cronty.stop_requests to cronty_engine;
  grant select, delete on cronty.presses to cronty_engine;
  grant select on cronty.every_job, cronty.delivered to cronty_engine;
  grant insert on cronty.audit_unsealed to cronty_engine;
  grant select (id, owner_id, number, name, expires_at, revoked_at), delete on cronty.api_keys to cronty_engine;
  grant execute on function cronty.make_run_partition(timestamptz), cronty.make_audit_partition(timestamptz)
    to cronty_app, cronty_engine;
  grant execute on function cronty.seal_audit(int, boolean, timestamptz, bigint) to cronty_engine;
  grant execute on function cronty.drop_run_partition(timestamptz, timestamptz) to cronty_engine;

  commit;

  -- The rows they see. The sub-select runs once per statement, not once per row. Rows about a job can be written only if
  -- the job is the owner's own.
  for named, seen, written in values
    ('owners', 'name = nullif(current_setting(''cronty.owner'', true), '''')', null),
    -- `is true` keeps the planner from using this to find rows: a job is looked up by its id, not among its owner's jobs.
    ('jobs', '(owner_id = ' || mine || ') is true', null),
    ('due', 'owner_id = ' || mine, null),
    ('runs', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('queue', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('channels', 'owner_id = ' || mine, null),
    ('calendars', 'owner_id = ' || mine, null),
    ('api_keys', 'owner_id = ' || mine, null),
    ('audit_unsealed', 'owner_id = ' || mine, null), -- no check: the same statement may create the job
    ('audit', 'owner_id = ' || mine, null),
    ('usage', 'owner_id = ' || mine, null),
    ('alerts', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and (job_id = 0 or ' || about_theirs || ')'),
    ('tellings', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('handed_over', 'owner_id = ' || mine, null),
    ('presses', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('absences', 'owner_id = ' || mine, null),
    ('starts', 'owner_id = ' || mine, null),
    ('audit_heads', 'owner_id = ' || mine, null),
    ('audit_checkpoints', 'owner_id = ' || mine, null),
    ('attempts', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs),
    ('stop_requests', 'owner_id = ' || mine, 'owner_id = ' || mine || ' and ' || about_theirs)
  loop
    rule := format('create policy own_rows on cronty.%I to cronty_app using (%s) with check (%s)',
      named, seen, coalesce(written, seen));
    continue when exists (
      select from pg_class c
      join pg_policy p on p.polrelid = c.oid and p.polname = 'own_rows' and p.polroles = array['cronty_app'::regrole::oid]
      join pg_policy q on q.polrelid = c.oid and q.polname = 'all_rows' and q.polroles = array['cronty_engine'::regrole::oid]
      where c.oid = format('cronty.%I', named)::regclass and c.relrowsecurity
        and pg_get_expr(q.polqual, c.oid) = 'true' and q.polwithcheck is null
        and (select count(*) from pg_policy s where s.polrelid = c.oid) = 2
        and obj_description(p.oid, 'pg_policy')
          = rule || ' -- ' || md5(pg_get_expr(p.polqual, c.oid) || pg_get_expr(p.polwithcheck, c.oid)));
    execute format('alter table cronty.%I enable row level security', named);
    for stranger in select polname from pg_policy where polrelid = format('cronty.%I', named)::regclass loop
      execute format('drop policy %I on cronty.%I', stranger, named);
    end loop;
    execute rule;
    execute format('create policy all_rows on cronty.%I to cronty_engine using (true)', named);
    select rule || ' -- ' || md5(pg_get_expr(polqual, polrelid) || pg_get_expr(polwithcheck, polrelid)) into rule
    from pg_policy where polrelid = format('cronty.%I', named)::regclass and polname = 'own_rows';
    execute format('comment on policy own_rows on cronty.%I is %L', named, rule);
    commit;
  end loop;
end $$;
