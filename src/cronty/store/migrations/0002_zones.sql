-- Which version of the zone database a next slot was computed with, and how far the newest has been applied to all;
-- what a job wants on the days on which clocks change.

create table cronty.tzdata (
  id smallint generated always as identity primary key,
  name text not null unique,
  seen_at timestamptz not null default now(),
  retimed_through bigint not null default 0,
  retimed_at timestamptz
);

alter table cronty.due add column tzdata smallint;

-- Null means the default: run after a gap, and in an overlap the first time only.
alter table cronty.due add column dst_gap text, add column dst_overlap text;

-- What changed without anybody asking, or because somebody did; only ever added to.
create table cronty.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  owner_id int not null,
  job_id bigint not null,
  what text not null,
  before jsonb,
  after jsonb
);
create index audit_of_job on cronty.audit (job_id, id);
