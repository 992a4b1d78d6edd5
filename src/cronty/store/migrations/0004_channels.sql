-- Where an owner's reminders go, by the name the owner gave it. `sealed` is the URL, encrypted for this owner and this
-- name; `hint` is what may be shown of it. A removed channel loses its URL and keeps its name: what was meant for it
-- must not go to a public topic that happens to be called the same.
create table cronty.channels (
  owner_id int not null references cronty.owners,
  name text not null,
  scheme text not null,
  hint text not null,
  key_id text,
  sealed bytea,
  created_at timestamptz not null,
  removed_at timestamptz,
  primary key (owner_id, name),
  constraint removed_means_forgotten check ((sealed is null) = (removed_at is not null)),
  constraint sealed_by_a_key check ((sealed is null) = (key_id is null))
);
