-- How much an owner may have and do. `limits` overrides the installation's, null means that nothing is different.
-- `live_jobs` and `live_bytes` were counted when `counted_through` was the owner's last job: what came after it is
-- counted when somebody asks, so that making a job writes no counter that others would have to wait for.
alter table cronty.owners
  add column limits jsonb,
  add column live_jobs int not null default 0,
  add column live_bytes bigint not null default 0,
  add column counted_through bigint not null default 0;
create index owners_limited on cronty.owners (id) where limits is not null;

-- How often something limited was done since the hour or the day began.
create table cronty.usage (
  owner_id int not null,
  what text not null,
  since timestamptz not null,
  used bigint not null,
  primary key (owner_id, what, since)
) with (fillfactor = 50);
create index usage_since on cronty.usage (since);
