domain as_app text CHECK (((set_config('role'::text, 'cronty_app'::text, true) IS NOT NULL) AND (set_config('cronty.owner'::text, COALESCE(VALUE, ''::text), true) IS NOT NULL)))
domain as_engine text CHECK (((set_config('role'::text, 'cronty_engine'::text, true) IS NOT NULL) AND (set_config('cronty.owner'::text, COALESCE(VALUE, ''::text), true) IS NOT NULL)))
domain settings jsonb CHECK (cronty.set_until_commit(VALUE))
function add_job(given jsonb, committing boolean) returns jsonb
function audit_hash(entry cronty.audit) returns bytea
function audit_text(entry cronty.audit) returns text
function be_server(which integer) returns void
function close_audit_month(closed date, moment timestamp with time zone) returns boolean
function drop_audit_month(closed date, moment timestamp with time zone, many bigint, digest_of_file bytea) returns void
function drop_run_partition(horizon timestamp with time zone, young timestamp with time zone) returns boolean security definer
function enqueue(given text, signature text) returns jsonb security definer
function enter_audit() returns trigger
function epoch() returns integer
function erase_audit(whose bigint, most integer) returns integer security definer
function expires_after(policy jsonb) returns double precision
function find_key(wanted bigint, moment timestamp with time zone) returns record security definer
function is_anothers(agent text, task text, arguments jsonb, origin jsonb) returns boolean
function job_status(state cronty.job_state, in_flight boolean, has_next boolean, failing boolean) returns text
function keep_waiting(job bigint) returns boolean
function last_with(whose bigint, wanted text, OUT job_id bigint, OUT turn integer, OUT number bigint, OUT created_at timestamp with time zone, OUT slot timestamp with time zone) returns record
function look_again() returns trigger security definer
function make_audit_partition(moment timestamp with time zone) returns boolean security definer
function make_run_partition(moment timestamp with time zone) returns boolean security definer
function making_run(whose bigint, asked bigint, slot timestamp with time zone, leased boolean, reader text, at timestamp with time zone, lease double precision, OUT job_id bigint, OUT job_number bigint, OUT scheduled_for timestamp with time zone, OUT depth integer) returns record
function refuse_change() returns trigger
function retry_error(job bigint) returns text
function seal_audit(most integer, patient boolean, moment timestamp with time zone, whose bigint) returns integer security definer
function set_until_commit(settings jsonb) returns boolean
function span(seconds double precision) returns text
function take_numbers(whose bigint, many integer) returns bigint
function untaken_since(job bigint, at timestamp with time zone) returns timestamp with time zone
function week_in_flight(partition text, monday timestamp with time zone) returns boolean
function without_arguments(change jsonb, whose bigint) returns jsonb
grant to cronty_app on alerts: insert
grant to cronty_app on api_keys: insert
grant to cronty_app on api_keys: select (id, owner_id, number, name, scopes, agent, parent_id, created_at, expires_at, last_used_at, revoked_at)
grant to cronty_app on api_keys: update (last_used_at, revoked_at)
grant to cronty_app on attempts: insert, select
grant to cronty_app on audit: select
grant to cronty_app on audit_checkpoints: select
grant to cronty_app on audit_heads: select
grant to cronty_app on audit_unsealed: insert
grant to cronty_app on calendars: delete, insert, select, update
grant to cronty_app on channels: insert, select, update
grant to cronty_app on delivered: select
grant to cronty_app on due: insert, select, update
grant to cronty_app on every_job: select
grant to cronty_app on find_key: execute
grant to cronty_app on handed_over: select
grant to cronty_app on job_overview: select
grant to cronty_app on jobs: insert, select, update
grant to cronty_app on make_audit_partition: execute
grant to cronty_app on make_run_partition: execute
grant to cronty_app on migrations: select
grant to cronty_app on owners: insert, select
grant to cronty_app on owners: update (zone, live_jobs, live_bytes, counted_at, next_number)
grant to cronty_app on presses: insert, select
grant to cronty_app on queue: delete, insert, select, update
grant to cronty_app on runs: insert, select, update
grant to cronty_app on schema cronty: usage
grant to cronty_app on server: select
grant to cronty_app on stop_requests: insert
grant to cronty_app on tasks: select
grant to cronty_app on tellings: insert, select, update
grant to cronty_app on usage: insert, select, update
grant to cronty_app on zones: insert, select
grant to cronty_app on zones: update (through)
grant to cronty_engine on absences: delete, insert, select, update
grant to cronty_engine on alerts: delete, insert, select, update
grant to cronty_engine on api_keys: delete
grant to cronty_engine on api_keys: select (id, owner_id, number, name, expires_at, revoked_at)
grant to cronty_engine on attempts: delete, insert, select, update
grant to cronty_engine on audit_unsealed: insert
grant to cronty_engine on calendars: select, update
grant to cronty_engine on channels: select
grant to cronty_engine on delivered: select
grant to cronty_engine on drop_run_partition: execute
grant to cronty_engine on due: delete, insert, select, update
grant to cronty_engine on every_job: select
grant to cronty_engine on handed_over: delete, insert, select, update
grant to cronty_engine on jobs: delete, insert, select, update
grant to cronty_engine on make_audit_partition: execute
grant to cronty_engine on make_run_partition: execute
grant to cronty_engine on migrations: select
grant to cronty_engine on owners: select
grant to cronty_engine on owners: update (next_number)
grant to cronty_engine on presses: delete, select
grant to cronty_engine on queue: delete, insert, select, update
grant to cronty_engine on runs: delete, insert, select, update
grant to cronty_engine on schema cronty: usage
grant to cronty_engine on seal_audit: execute
grant to cronty_engine on server: select
grant to cronty_engine on starts: delete, insert, select, update
grant to cronty_engine on stop_requests: delete, insert, select
grant to cronty_engine on task_limits: delete, insert, select, update
grant to cronty_engine on tasks: delete, insert, select, update
grant to cronty_engine on tellings: delete, insert, select, update
grant to cronty_engine on usage: delete, insert, select, update
grant to cronty_engine on workers: delete, insert, select, update
grant to cronty_engine on zones: insert, select, update
index absences_pkey on absences USING btree (owner_id)
index alerts_pkey on alerts USING btree (id)
index api_keys_ended on api_keys USING btree (LEAST(revoked_at, expires_at))
index api_keys_made_with on api_keys USING btree (parent_id) WHERE (parent_id IS NOT NULL)
index api_keys_number on api_keys USING btree (owner_id, number)
index api_keys_pkey on api_keys USING btree (id)
index attempts_pkey on attempts USING btree (job_id, scheduled_for, attempt)
index attempts_slot on attempts USING btree (scheduled_for)
index audit_checkpoints_pkey on audit_checkpoints USING btree (owner_id)
index audit_heads_pkey on audit_heads USING btree (owner_id)
index audit_months_pkey on audit_months USING btree (month)
index audit_pkey on audit USING btree (owner_id, number, sealed_at)
index audit_unsealed_of_owner on audit_unsealed USING btree (owner_id, id)
index audit_unsealed_pkey on audit_unsealed USING btree (id)
index calendars_pkey on calendars USING btree (owner_id, name)
index channels_ahead on channels USING btree (owner_id) WHERE ahead
index channels_pkey on channels USING btree (owner_id, name)
index dropped_weeks_pkey on dropped_weeks USING btree (monday)
index due_ended on due USING btree (last_slot, job_id) WHERE ((next_at IS NULL) AND (held_slot IS NULL))
index due_next on due USING btree (next_at) WHERE (next_at IS NOT NULL)
index due_pkey on due USING btree (job_id)
index due_urgent on due USING btree (next_at) WHERE (urgent AND (next_at IS NOT NULL))
index handed_over_due on handed_over USING btree (due_at) WHERE (due_at IS NOT NULL)
index handed_over_owner on handed_over USING btree (owner_id, channel)
index handed_over_pkey on handed_over USING btree (id)
index handed_over_place on handed_over USING btree (job_id, scheduled_for)
index handed_over_slot on handed_over USING btree (scheduled_for)
index handed_over_wanted on handed_over USING btree (job_id, scheduled_for) WHERE (state <> 'taking'::text)
index jobs_by_calendar on jobs USING btree (owner_id, number) WHERE (trigger ? 'calendars'::text)
index jobs_cancelled on jobs USING btree (updated_at, id) WHERE ((state = 'cancelled'::cronty.job_state) AND (deleted_at IS NULL))
index jobs_deleted on jobs USING btree (deleted_at, id) WHERE (deleted_at IS NOT NULL)
index jobs_deleted_of on jobs USING btree (owner_id, deleted_at) WHERE (deleted_at IS NOT NULL)
index jobs_idempotency on jobs USING btree (owner_id, idempotency_key) WHERE ((idempotency_key IS NOT NULL) AND (deleted_at IS NULL))
index jobs_live on jobs USING btree (owner_id, created_at) WHERE ((deleted_at IS NULL) AND (NOT ended))
index jobs_notify on jobs USING btree (owner_id, id) WHERE ((task = 'notify'::text) AND (deleted_at IS NULL) AND (NOT ended))
index jobs_number on jobs USING btree (owner_id, number)
index jobs_of_key on jobs USING btree (key_id) WHERE ((key_id IS NOT NULL) AND (state = ANY (ARRAY['active'::cronty.job_state, 'paused'::cronty.job_state])))
index jobs_pkey on jobs USING btree (id)
index jobs_set_aside on jobs USING btree (id) WHERE ((state = 'set_aside'::cronty.job_state) AND (deleted_at IS NULL))
index jobs_unique on jobs USING btree (owner_id, unique_key, unique_turn) WHERE (unique_key IS NOT NULL)
index migrations_pkey on migrations USING btree (name)
index owners_limited on owners USING btree (id) WHERE (limits IS NOT NULL)
index owners_name_key on owners USING btree (name)
index owners_pkey on owners USING btree (id)
index presses_pkey on presses USING btree (job_id, scheduled_for)
index presses_slot on presses USING btree (scheduled_for)
index queue_due on queue USING btree (task, crashes, due_at) WHERE (due_at IS NOT NULL)
index queue_in_line on queue USING btree (job_id, scheduled_for) WHERE (due_at IS NULL)
index queue_inbox on queue USING btree (owner_id, due_at) WHERE (task = 'prompt'::text)
index queue_pkey on queue USING btree (job_id, scheduled_for)
index queue_slot on queue USING btree (scheduled_for, job_id)
index runs_by_time on runs USING brin (scheduled_for, started_at, finished_at) WITH (pages_per_range='64', autosummarize='on')
index runs_dead on runs USING btree (owner_id, finished_at) WHERE (state = ANY (ARRAY['failed'::cronty.run_state, 'quarantined'::cronty.run_state]))
index runs_pkey on runs USING btree (job_id, scheduled_for)
index runs_running on runs USING btree (owner_id, job_id) WHERE (state = 'running'::cronty.run_state)
index server_pkey on server USING btree (only_row)
index starts_by_time on starts USING btree (limit_name, started_at)
index starts_pkey on starts USING btree (limit_name, job_id, scheduled_for, attempt)
index starts_under_way on starts USING btree (limit_name, started_at) WHERE (NOT ended)
index stop_requests_pkey on stop_requests USING btree (worker, job_id, scheduled_for)
index task_limits_pkey on task_limits USING btree (name)
index tasks_pkey on tasks USING btree (name)
index tellings_due on tellings USING btree (due_at) WHERE (due_at IS NOT NULL)
index tellings_pkey on tellings USING btree (job_id, scheduled_for)
index tellings_slot on tellings USING btree (scheduled_for)
index tellings_told on tellings USING btree (job_id, scheduled_for) WHERE (digest IS NOT NULL)
index usage_pkey on usage USING btree (owner_id, what, since, at_door)
index usage_since on usage USING btree (since)
index workers_pkey on workers USING btree (id)
index zones_pkey on zones USING btree (name)
role cronty_app
role cronty_engine
table absences
table absences constraint absences_pkey PRIMARY KEY (owner_id)
table absences.coalesced integer not null
table absences.late integer not null
table absences.late_jobs bigint[] not null
table absences.missed integer not null
table absences.missed_jobs bigint[] not null
table absences.owner_id bigint not null
table absences.since timestamp with time zone not null
table absences.until timestamp with time zone not null
table alerts
table alerts constraint alerts_pkey PRIMARY KEY (id)
table alerts.arguments jsonb not null
table alerts.at timestamp with time zone not null
table alerts.id bigint not null identity
table alerts.job_id bigint not null
table alerts.name text not null
table alerts.owner_id bigint not null
table alerts.task text not null default 'notify'::text
table api_keys
table api_keys constraint api_keys_number_check CHECK ((number > 0))
table api_keys constraint api_keys_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES cronty.owners(id)
table api_keys constraint api_keys_pkey PRIMARY KEY (id)
table api_keys.agent text
table api_keys.created_at timestamp with time zone not null
table api_keys.expires_at timestamp with time zone
table api_keys.hash bytea not null
table api_keys.id bigint not null
table api_keys.last_used_at timestamp with time zone
table api_keys.name text not null
table api_keys.number bigint not null
table api_keys.owner_id bigint not null
table api_keys.parent_id bigint
table api_keys.revoked_at timestamp with time zone
table api_keys.scopes text[] not null
table attempts
table attempts constraint attempts_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'snoozed'::text, 'interrupted'::text, 'lost'::text, 'superseded'::text])))
table attempts constraint attempts_pkey PRIMARY KEY (job_id, scheduled_for, attempt)
table attempts.attempt integer not null
table attempts.ended_at timestamp with time zone not null
table attempts.error text
table attempts.job_id bigint not null
table attempts.outcome text not null
table attempts.owner_id bigint not null
table attempts.scheduled_for timestamp with time zone not null
table attempts.started_at timestamp with time zone
table attempts.worker bigint
table audit constraint audit_pkey PRIMARY KEY (owner_id, number, sealed_at)
table audit partition by RANGE (sealed_at)
table audit.actor jsonb
table audit.after jsonb
table audit.at timestamp with time zone not null
table audit.before jsonb
table audit.client jsonb
table audit.hash bytea not null
table audit.job_id bigint
table audit.job_number bigint
table audit.number bigint not null
table audit.owner_id bigint not null
table audit.previous bytea not null
table audit.sealed_at timestamp with time zone not null
table audit.what text not null
table audit_checkpoints
table audit_checkpoints constraint audit_checkpoints_pkey PRIMARY KEY (owner_id)
table audit_checkpoints.count bigint not null
table audit_checkpoints.hash bytea not null
table audit_checkpoints.key_id text not null
table audit_checkpoints.month date not null
table audit_checkpoints.number bigint not null
table audit_checkpoints.owner_id bigint not null
table audit_checkpoints.signature bytea not null
table audit_heads constraint audit_heads_pkey PRIMARY KEY (owner_id)
table audit_heads with (fillfactor=50)
table audit_heads.first_sealed_at timestamp with time zone not null
table audit_heads.hash bytea not null
table audit_heads.number bigint not null
table audit_heads.owner_id bigint not null
table audit_heads.sealed_at timestamp with time zone not null
table audit_months
table audit_months constraint archived_or_not CHECK ((num_nulls(archived_at, entries, digest) = ANY (ARRAY[0, 3])))
table audit_months constraint audit_months_pkey PRIMARY KEY (month)
table audit_months.archived_at timestamp with time zone
table audit_months.digest bytea
table audit_months.entries bigint
table audit_months.month date not null
table audit_unsealed
table audit_unsealed constraint audit_unsealed_pkey PRIMARY KEY (id)
table audit_unsealed constraint names_its_job CHECK (((job_id IS NULL) = (job_number IS NULL)))
table audit_unsealed.actor jsonb
table audit_unsealed.after jsonb
table audit_unsealed.at timestamp with time zone not null
table audit_unsealed.before jsonb
table audit_unsealed.client jsonb
table audit_unsealed.id bigint not null identity
table audit_unsealed.job_id bigint
table audit_unsealed.job_number bigint
table audit_unsealed.owner_id bigint not null
table audit_unsealed.what text not null
table calendars
table calendars constraint calendars_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES cronty.owners(id)
table calendars constraint calendars_pkey PRIMARY KEY (owner_id, name)
table calendars.days jsonb not null
table calendars.digest text not null
table calendars.moving boolean not null default false
table calendars.name text not null
table calendars.owner_id bigint not null
table calendars.source text
table calendars.updated_at timestamp with time zone not null
table channels
table channels constraint channels_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES cronty.owners(id)
table channels constraint channels_pkey PRIMARY KEY (owner_id, name)
table channels constraint removed_means_forgotten CHECK (((sealed IS NULL) = (removed_at IS NOT NULL)))
table channels constraint sealed_by_a_key CHECK (((sealed IS NULL) = (key_id IS NULL)))
table channels.ahead boolean not null default false
table channels.created_at timestamp with time zone not null
table channels.hint text not null
table channels.key_id text
table channels.name text not null
table channels.owner_id bigint not null
table channels.removed_at timestamp with time zone
table channels.scheme text not null
table channels.sealed bytea
table dropped_weeks
table dropped_weeks constraint dropped_weeks_pkey PRIMARY KEY (monday)
table dropped_weeks.monday timestamp with time zone not null
table due constraint due_job_id_fkey FOREIGN KEY (job_id) REFERENCES cronty.jobs(id)
table due constraint due_pkey PRIMARY KEY (job_id)
table due constraint due_urgent_check CHECK (urgent)
table due with (fillfactor=80, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.1)
table due.delay integer not null default 0
table due.dst_gap text
table due.dst_overlap text
table due.expression text
table due.held_slot timestamp with time zone
table due.job_id bigint not null
table due.last_run timestamp with time zone
table due.last_slot timestamp with time zone
table due.last_through timestamp with time zone
table due.manual_count integer not null default 0
table due.next_at timestamp with time zone
table due.owner_id bigint not null
table due.period bigint
table due.run_count integer not null default 0
table due.serial boolean not null
table due.urgent boolean
table due.zone text
table found_waiting
table found_waiting constraint at_commit TRIGGER DEFERRABLE INITIALLY DEFERRED
table found_waiting.job jsonb not null
table handed_over
table handed_over constraint handed_over_pkey PRIMARY KEY (id)
table handed_over constraint handed_over_state_check CHECK ((state = ANY (ARRAY['giving'::text, 'held'::text, 'taking'::text])))
table handed_over constraint held_means_done CHECK (((state <> 'held'::text) OR (due_at IS NULL)))
table handed_over constraint held_since CHECK (((state = 'held'::text) = (handed_at IS NOT NULL)))
table handed_over constraint recalled_for_good CHECK (((state = 'taking'::text) OR (NOT recalled)))
table handed_over.arriving_until timestamp with time zone
table handed_over.channel text not null
table handed_over.claimed boolean not null default false
table handed_over.due_at timestamp with time zone
table handed_over.error text
table handed_over.failures integer not null default 0
table handed_over.handed_at timestamp with time zone
table handed_over.id bigint not null identity
table handed_over.job_id bigint not null
table handed_over.key_id text not null
table handed_over.owner text not null
table handed_over.owner_id bigint not null
table handed_over.recalled boolean not null default false
table handed_over.scheduled_for timestamp with time zone not null
table handed_over.sealed bytea not null
table handed_over.state text not null default 'giving'::text
table handed_over.there boolean not null default false
table handed_over.tries integer not null default 0
table handed_over.version integer not null
table jobs
table jobs constraint jobs_max_runs_check CHECK ((max_runs > 0))
table jobs constraint jobs_number_check CHECK ((number > 0))
table jobs constraint jobs_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES cronty.owners(id)
table jobs constraint jobs_pkey PRIMARY KEY (id)
table jobs constraint jobs_said_check CHECK ((length(said) <= 500))
table jobs.arguments jsonb not null
table jobs.cancelled_count integer not null default 0
table jobs.created_at timestamp with time zone not null
table jobs.deleted_at timestamp with time zone
table jobs.deleted_from cronty.job_state
table jobs.ended boolean not null default false
table jobs.ends_at timestamp with time zone
table jobs.failure_count integer not null default 0
table jobs.failures_in_row integer not null default 0
table jobs.id bigint not null identity
table jobs.idempotency_key text
table jobs.key_id bigint
table jobs.last_error text
table jobs.max_runs integer
table jobs.name text not null
table jobs.number bigint not null
table jobs.origin jsonb
table jobs.owner_id bigint not null
table jobs.policy jsonb not null
table jobs.reason text
table jobs.request bytea
table jobs.said text
table jobs.slots_after timestamp with time zone not null default now()
table jobs.state cronty.job_state not null default 'active'::cronty.job_state
table jobs.tags text[] not null
table jobs.task text not null
table jobs.trigger jsonb not null
table jobs.unique_key text
table jobs.unique_turn integer
table jobs.updated_at timestamp with time zone not null
table jobs.version integer not null default 1
table jobs.zone text not null default 'UTC'::text
table migrations
table migrations constraint migrations_pkey PRIMARY KEY (name)
table migrations.applied_at timestamp with time zone not null default now()
table migrations.name text not null
table migrations.older_code_works boolean not null
table migrations.walls text
table owners
table owners constraint owners_name_key UNIQUE (name)
table owners constraint owners_pkey PRIMARY KEY (id)
table owners.counted_at timestamp with time zone not null default '-infinity'::timestamp with time zone
table owners.created_at timestamp with time zone not null default now()
table owners.erasing_since timestamp with time zone
table owners.id bigint not null identity
table owners.limits jsonb
table owners.live_bytes bigint not null default 0
table owners.live_jobs integer not null default 0
table owners.name text not null
table owners.next_number bigint not null default 1
table owners.zone text
table presses
table presses constraint done_is_over CHECK (((act = 'done'::text) = (until IS NULL)))
table presses constraint presses_act_check CHECK ((act = ANY (ARRAY['done'::text, 'snooze'::text, 'tomorrow'::text])))
table presses constraint presses_pkey PRIMARY KEY (job_id, scheduled_for)
table presses.act text not null
table presses.job_id bigint not null
table presses.owner_id bigint not null
table presses.pressed_at timestamp with time zone not null
table presses.scheduled_for timestamp with time zone not null
table presses.until timestamp with time zone
table queue constraint queue_pkey PRIMARY KEY (job_id, scheduled_for)
table queue with (fillfactor=80, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table queue.crashes smallint not null default 0
table queue.due_at timestamp with time zone
table queue.job_id bigint not null
table queue.owner_id bigint not null
table queue.scheduled_for timestamp with time zone not null
table queue.task text not null
table runs constraint a_range_is_a_verdict CHECK (((slots = 1) OR ((through > scheduled_for) AND (attempt = 0))))
table runs constraint a_verdict_has_its_time CHECK (((state = ANY (ARRAY['waiting'::cronty.run_state, 'running'::cronty.run_state])) = (finished_at IS NULL)))
table runs constraint running_means_held CHECK (((state = 'running'::cronty.run_state) = (worker IS NOT NULL)))
table runs constraint runs_pkey PRIMARY KEY (job_id, scheduled_for)
table runs constraint runs_slots_check CHECK ((slots > 0))
table runs partition by RANGE (scheduled_for)
table runs.attempt integer not null default 0
table runs.backfilled jsonb
table runs.crashes smallint not null default 0
table runs.error text
table runs.failures integer not null default 0
table runs.finished_at timestamp with time zone
table runs.followed_by timestamp with time zone
table runs.job_id bigint not null
table runs.manual boolean not null default false
table runs.owner_id bigint not null
table runs.reason text
table runs.result jsonb
table runs.scheduled_for timestamp with time zone not null
table runs.slots integer not null default 1
table runs.started_at timestamp with time zone
table runs.state cronty.run_state not null
table runs.through timestamp with time zone
table runs.traceback text
table runs.worker bigint
table server
table server constraint server_number_check CHECK (((number >= 0) AND (number <= 1023)))
table server constraint server_only_row_check CHECK (only_row)
table server constraint server_pkey PRIMARY KEY (only_row)
table server.enqueue_key bytea not null default sha256((uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())))
table server.frozen_at timestamp with time zone
table server.frozen_because text
table server.number integer not null
table server.only_row boolean not null default true
table starts constraint starts_pkey PRIMARY KEY (limit_name, job_id, scheduled_for, attempt)
table starts with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table starts.attempt integer not null
table starts.ended boolean not null
table starts.job_id bigint not null
table starts.limit_name text not null
table starts.owner_id bigint not null
table starts.scheduled_for timestamp with time zone not null
table starts.started_at timestamp with time zone not null
table stop_requests
table stop_requests constraint stop_requests_pkey PRIMARY KEY (worker, job_id, scheduled_for)
table stop_requests.job_id bigint not null
table stop_requests.owner_id bigint not null
table stop_requests.reason text not null default 'cancelled while running'::text
table stop_requests.scheduled_for timestamp with time zone not null
table stop_requests.worker bigint not null
table task_limits constraint task_limits_at_once_check CHECK ((at_once > 0))
table task_limits constraint task_limits_per_minute_check CHECK ((per_minute > 0))
table task_limits constraint task_limits_pkey PRIMARY KEY (name)
table task_limits with (fillfactor=50)
table task_limits.at_once integer
table task_limits.held_until timestamp with time zone
table task_limits.name text not null
table task_limits.per_minute integer
table tasks
table tasks constraint tasks_pkey PRIMARY KEY (name)
table tasks.doc text not null
table tasks.name text not null
table tasks.owners jsonb
table tasks.parameters json not null
table tasks.said_at timestamp with time zone
table tasks.said_by bigint
table tasks.seen_at timestamp with time zone not null
table tasks.settings jsonb
table tellings
table tellings constraint tellings_pkey PRIMARY KEY (job_id, scheduled_for)
table tellings constraint tellings_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'quiet'::text, 'unchanged'::text])))
table tellings constraint waiting_means_due CHECK (((state = 'waiting'::text) = (due_at IS NOT NULL)))
table tellings.attempt integer not null
table tellings.channel text
table tellings.digest text
table tellings.due_at timestamp with time zone
table tellings.error text
table tellings.failures integer not null default 0
table tellings.job_id bigint not null
table tellings.owner_id bigint not null
table tellings.scheduled_for timestamp with time zone not null
table tellings.state text not null default 'waiting'::text
table tellings.told_at timestamp with time zone
table tellings.tries integer not null default 0
table usage constraint usage_pkey PRIMARY KEY (owner_id, what, since, at_door)
table usage with (fillfactor=50)
table usage.at_door boolean not null
table usage.owner_id bigint not null
table usage.since timestamp with time zone not null
table usage.used bigint not null
table usage.what text not null
table workers constraint workers_pkey PRIMARY KEY (id)
table workers with (fillfactor=50)
table workers.beat_at timestamp with time zone not null
table workers.concurrency integer not null
table workers.id bigint not null
table workers.lease_until timestamp with time zone not null
table workers.name text not null
table workers.performs jsonb not null default '{}'::jsonb
table workers.program text
table workers.started_at timestamp with time zone not null
table workers.tzdata text not null
table workers.version text not null
table zones
table zones constraint zones_pkey PRIMARY KEY (name)
table zones.changed_at timestamp with time zone not null
table zones.name text not null
table zones.rules text not null
table zones.skipped bigint
table zones.through bigint
table zones.version text not null
type job_state (active, paused, cancelled, set_aside)
type run_state (waiting, running, done, failed, cancelled, skipped, coalesced, missed, quarantined)
view delivered with (security_invoker=true)
view every_job with (security_invoker=true)
view job_overview with (security_invoker=true)
view slots_unaccounted with (security_invoker=true)
wall around absences
wall around absences lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around absences lets cronty_engine at true
wall around alerts
wall around alerts lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND ((job_id = 0) OR (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = alerts.job_id)))))
wall around alerts lets cronty_engine at true
wall around api_keys
wall around api_keys lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around api_keys lets cronty_engine at true
wall around attempts
wall around attempts lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = attempts.job_id))))
wall around attempts lets cronty_engine at true
wall around audit
wall around audit lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around audit lets cronty_engine at true
wall around audit_checkpoints
wall around audit_checkpoints lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around audit_checkpoints lets cronty_engine at true
wall around audit_heads
wall around audit_heads lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around audit_heads lets cronty_engine at true
wall around audit_unsealed
wall around audit_unsealed lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around audit_unsealed lets cronty_engine at true
wall around calendars
wall around calendars lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around calendars lets cronty_engine at true
wall around channels
wall around channels lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around channels lets cronty_engine at true
wall around due
wall around due lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around due lets cronty_engine at true
wall around handed_over
wall around handed_over lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around handed_over lets cronty_engine at true
wall around jobs
wall around jobs lets cronty_app at ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) IS TRUE)
wall around jobs lets cronty_engine at true
wall around owners
wall around owners lets cronty_app at (name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))
wall around owners lets cronty_engine at true
wall around presses
wall around presses lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = presses.job_id))))
wall around presses lets cronty_engine at true
wall around queue
wall around queue lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = queue.job_id))))
wall around queue lets cronty_engine at true
wall around runs
wall around runs lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = runs.job_id))))
wall around runs lets cronty_engine at true
wall around starts
wall around starts lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around starts lets cronty_engine at true
wall around stop_requests
wall around stop_requests lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = stop_requests.job_id))))
wall around stop_requests lets cronty_engine at true
wall around tellings
wall around tellings lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) and write ((owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text)))) AND (EXISTS ( SELECT FROM cronty.jobs j WHERE (j.id = tellings.job_id))))
wall around tellings lets cronty_engine at true
wall around usage
wall around usage lets cronty_app at (owner_id = ( SELECT o.id FROM cronty.owners o WHERE (o.name = NULLIF(current_setting('cronty.owner'::text, true), ''::text))))
wall around usage lets cronty_engine at true
