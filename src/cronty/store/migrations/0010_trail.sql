-- The trail: who did what, through which client, to which job. Each entry of an owner carries the hash of the one
-- before it, so that an entry changed, taken out, put in or put elsewhere later is found (`cronty audit verify`).

alter table cronty.audit
  alter column job_id drop not null,
  add column actor jsonb,
  add column client jsonb,
  add column number bigint,
  add column previous bytea,
  add column hash bytea;

-- Where an owner's chain ends. It tells whether the end was cut off, and it is what writers of one owner queue at.
create table cronty.audit_heads (
  owner_id int primary key,
  number bigint not null,
  hash bytea not null
) with (fillfactor = 50);

-- What is hashed of an entry, the same in every session: jsonb has one spelling, and the time is in microseconds.
create function cronty.audit_text(entry cronty.audit) returns text language sql stable as $$
  select jsonb_build_array(entry.number, entry.owner_id, (extract(epoch from entry.at) * 1000000)::bigint, entry.job_id,
    entry.what, entry.actor, entry.client, entry.before, entry.after)::text
$$;

create function cronty.audit_hash(entry cronty.audit) returns bytea language sql stable as $$
  select sha256(entry.previous || convert_to(cronty.audit_text(entry), 'UTF8'))
$$;

-- Arguments may hold a prompt or a receiver's password, and the trail is for ever: of them only a hash is kept.
create function cronty.without_arguments(change jsonb) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(change -> 'arguments') = 'object' then change || jsonb_build_object('arguments',
    'sha256:' || encode(sha256(convert_to((change -> 'arguments')::text, 'UTF8')), 'hex')) else change end
$$;

-- The head is locked until the transaction ends. Entries beyond it are those of this very statement: the head moves
-- once for all of them, or 5,000 entries would be 5,000 versions of one row.
create function cronty.chain_audit() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  head cronty.audit_heads;
begin
  select * into head from cronty.audit_heads h where h.owner_id = new.owner_id for update;
  if not found then
    insert into cronty.audit_heads (owner_id, number, hash) values (new.owner_id, 0, '') on conflict do nothing;
    select * into head from cronty.audit_heads h where h.owner_id = new.owner_id for update;
  end if;
  new.number := head.number + 1;
  new.previous := head.hash;
  select a.number + 1, a.hash into head.number, head.hash
  from cronty.audit a where a.owner_id = new.owner_id and a.number > head.number order by a.number desc limit 1;
  if found then
    new.number := head.number;
    new.previous := head.hash;
  end if;
  new.before := cronty.without_arguments(new.before);
  new.after := cronty.without_arguments(new.after);
  new.hash := cronty.audit_hash(new);
  return new;
end $$;

create function cronty.move_audit_heads() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update cronty.audit_heads h
  set number = a.number, hash = a.hash
  from (select distinct on (owner_id) owner_id, number, hash from added order by owner_id, number desc) a
  where h.owner_id = a.owner_id;
  return null;
end $$;

create function cronty.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'cronty.audit is only ever added to: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;

-- What was noted before there was a chain begins it.
do $$
declare
  entry cronty.audit;
  head cronty.audit_heads;
begin
  for entry in select * from cronty.audit order by owner_id, id loop
    if head.owner_id is distinct from entry.owner_id then
      head := row(entry.owner_id, 0, ''::bytea);
    end if;
    entry.number := head.number + 1;
    entry.previous := head.hash;
    entry.hash := cronty.audit_hash(entry);
    update cronty.audit set number = entry.number, previous = entry.previous, hash = entry.hash where id = entry.id;
    head := row(entry.owner_id, entry.number, entry.hash);
    insert into cronty.audit_heads (owner_id, number, hash) values (head.owner_id, head.number, head.hash)
    on conflict (owner_id) do update set number = excluded.number, hash = excluded.hash;
  end loop;
end $$;

alter table cronty.audit
  alter column number set not null,
  alter column previous set not null,
  alter column hash set not null;
create unique index audit_chain on cronty.audit (owner_id, number);

create trigger chained before insert on cronty.audit for each row execute function cronty.chain_audit();
create trigger heads_moved after insert on cronty.audit referencing new table as added for each statement
execute function cronty.move_audit_heads();
create trigger only_grows before update or delete or truncate on cronty.audit for each statement
execute function cronty.refuse_change();
