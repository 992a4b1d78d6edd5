-- What the second wall between owners needs whether it can be built here or not; `walls.sql` builds it.

-- A view shows its reader what the reader may see, not what its maker may.
alter view cronty.slots_unaccounted set (security_invoker = true);
alter view cronty.job_overview set (security_invoker = true);

-- Weeks of history are made and dropped by the engine, which owns no table.
alter function cronty.make_run_partition(timestamptz) security definer set search_path = pg_catalog, pg_temp;
alter function cronty.drop_run_partitions(timestamptz) security definer set search_path = pg_catalog, pg_temp;
revoke execute on function cronty.make_run_partition(timestamptz), cronty.drop_run_partitions(timestamptz) from public;

-- A key that is still good, and whose it is: asked before anybody knows on whose behalf, one key at a time.
create function cronty.find_key(wanted bigint, moment timestamptz)
returns table (id bigint, hash bytea, scopes text[], agent text, owner text, stale boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select k.id, k.hash, k.scopes, k.agent, o.name, coalesce(k.last_used_at < moment - interval '1 minute', true)
  from cronty.api_keys k
  join cronty.owners o on o.id = k.owner_id
  where k.id = wanted and k.revoked_at is null and (k.expires_at is null or k.expires_at > moment)
$$;
revoke execute on function cronty.find_key(bigint, timestamptz) from public;

-- Keys in the order in which they ended: the engine looks at those that just did.
create index api_keys_ended on cronty.api_keys (least(revoked_at, expires_at));
