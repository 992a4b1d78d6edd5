-- API keys: shown once, stored as a hash; revoked, never deleted, so that the trail can still name them.
create table cronty.api_keys (
  id bigint generated always as identity primary key,
  owner_id int not null references cronty.owners,
  name text not null,
  hash bytea not null,
  scopes text[] not null,
  agent text,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_of_owner on cronty.api_keys (owner_id, id);

-- The key a job was made with: when it is revoked or has run out, its jobs pause.
alter table cronty.jobs add column key_id bigint;
create index jobs_of_key on cronty.jobs (key_id) where key_id is not null and state = 'active';
