"""Opens and closes everything, and puts it together: what every Cronty has before anything is asked."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, Final, Self, overload

import orjson

from cronty import telemetry
from cronty.actions.command import agent_tasks
from cronty.actions.courier import Courier
from cronty.actions.notify import Notify
from cronty.actions.outbound import Outbound, require_success
from cronty.actions.prompt import prompt
from cronty.actions.shell import Shell
from cronty.actions.tasks import Registry
from cronty.actions.webhook import Webhook
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.loop import LONGEST_REST, keep_doing
from cronty.jobs.action import COMMAND
from cronty.jobs.envelope import RunFacts
from cronty.jobs.limits import DEFAULTS, BadLimits, Limits, read_limits
from cronty.scheduler import Scheduler
from cronty.scheduler.channels import Channels
from cronty.scheduler.doors import Doors, NotAllowed
from cronty.scheduler.identity import Identity, Provider
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.overview import Overview
from cronty.scheduler.runs import Runs
from cronty.settings import Settings
from cronty.store.audit_store import AuditStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Clock, Database, StoreMisnamed, StoreUnavailable
from cronty.store.health import why_not_writable
from cronty.store.inbox_store import InboxStore
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.local import start_local_server
from cronty.store.migrate import migrate, schema_state
from cronty.store.overview_store import OverviewStore
from cronty.store.owner_store import OwnerStore
from cronty.store.replica import Replica, replica_url
from cronty.store.run_store import RunStore
from cronty.store.schema import SchemaProblem, state_of
from cronty.store.sealing import Sealer, key_of_folder
from cronty.store.signing import Signer
from cronty.telemetry import Outage, ReplicaOutage

RETRY_REST: Final = 1.0
"""Seconds between two tries to open, while there is patience."""

ANSWER_WITHIN: Final = 2.0


class Opening:
    """Register tasks, open, close.

    `async with cronty:` runs door and engine on the current event loop; `start()` and `stop()` run them in a
    background thread, and `wait()` makes a call from there. Without a database URL (argument, or
    CRONTY_DATABASE_URL) a local PostgreSQL is started, which needs `cronty[local]`. A database that is away is waited
    for as many seconds as there is `patience`.
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        owner: str = "local",
        concurrency: int | None = None,
        run_jobs: bool = True,
        data_dir: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        given = {"database_url": database_url, "concurrency": concurrency, "data_dir": data_dir}
        self.settings = Settings(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
        self._limits = _limits(self.settings.limits)
        self.owner = owner
        self.registry = Registry()
        self._outbound, self._notify = self._register_built_in()
        self.run_jobs = run_jobs
        self.die_when_stuck = False
        self.patience = 0.0
        self._outage = Outage()
        self._clock = clock
        self._stack = AsyncExitStack()
        self._doors: Doors | None = None
        self._engine: Engine | None = None
        self._database: Database | None = None
        self._newer: list[str] = []
        self._outgrown: SchemaProblem | None = None
        self.when_outgrown: Callable[[], None] = lambda: None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: asyncio.Event | None = None

    def _register_built_in(self) -> tuple[Outbound, Notify]:
        """What may be scheduled with nothing registered: declarative actions, never code."""
        settings = self.settings
        outbound = Outbound(_listed(settings.allowed_hosts))
        token = settings.ntfy_token.get_secret_value() if settings.ntfy_token else None
        self._courier = Courier(outbound, _listed(settings.channel_schemes))
        notify = Notify(outbound, settings.ntfy_url, token, courier=self._courier, find=self._channel_of_owner)
        self.registry.add(notify.notify, "notify")
        webhook = Webhook(outbound, _listed(settings.webhook_secrets))
        self.registry.add(webhook.webhook, "webhook")
        self.registry.declare(prompt)
        if settings.commands is not None:
            self.registry.add(Shell(settings.commands, os.environ).command, COMMAND)
        if settings.agents_file is not None:
            for name, wake in agent_tasks(settings.agents_file, webhook, self._about, os.environ).items():
                self.registry.add(wake, name)
        return outbound, notify

    async def _about(self, owner_id: int, job_id: int, slot: datetime) -> RunFacts | None:
        return await self.inbox.about(owner_id, job_id, slot)

    # -- tasks --------------------------------------------------------------------------------------------------

    @overload
    def task[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def task[F: Callable[..., object]](self, /, *, name: str) -> Callable[[F], F]: ...
    def task(self, function: Callable[..., object] | None = None, /, *, name: str | None = None) -> object:
        """Register a function (plain or async) under its own name, or under `name`."""

        def register(function: Callable[..., object]) -> Callable[..., object]:
            self.registry.add(function, name)
            return function

        return register if function is None else register(function)

    # -- opening and closing ------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        self._doors = None
        await self._stack.aclose()
        if self._outgrown is not None and not any(error):
            raise self._outgrown

    async def _open(self) -> None:
        self._outgrown = None
        self._stack.push_async_callback(self._outbound.aclose)
        self._stack.push_async_callback(self._courier.aclose)
        ends = monotonic() + self.patience
        while True:
            try:
                async with AsyncExitStack() as trying:
                    await self._open_store(trying)
                    self._stack.push_async_exit(trying.pop_all())
                    return
            except StoreMisnamed:
                raise
            except StoreUnavailable as away:
                if monotonic() + RETRY_REST > ends:
                    raise
                self._outage.fault(away)
                await asyncio.sleep(RETRY_REST)

    async def _open_store(self, stack: AsyncExitStack) -> None:
        url = await self.open_database()
        sizes = self.settings.door_connections, self.settings.engine_connections
        database = self._database = await Database(url, clock=self._clock, size=sizes[0], outage=self._outage).open()
        stack.push_async_callback(database.close)
        if self.settings.replica_url is not None:
            copy = Database(replica_url(self.settings.replica_url), clock=self._clock, outage=ReplicaOutage())
            database.replica = Replica(copy, database)
            stack.push_async_callback(copy.close)
        jobs = JobStore(database)
        stack.push_async_callback(jobs.close)
        self._doors = self._open_doors(database, jobs)
        await jobs.publish(self.registry.built_in())
        if self.run_jobs:
            hot = await Database(url, clock=self._clock, size=sizes[1], hot=True, outage=self._outage).open()
            stack.push_async_callback(hot.close)
            options = EngineOptions(
                concurrency=self.settings.concurrency,
                lease=self.settings.lease,
                drain=self.settings.drain,
                keep_days=self.settings.keep_days,
                version=version("cronty"),
                die_when_stuck=self.die_when_stuck,
                limits=self._limits,
            )
            self._engine = Engine(hot, self.registry, options)
            stack.push_async_callback(self._stop_engine)
            await self._engine.start()
        watch = keep_doing("schema", self.check_schema, wake=asyncio.Event(), stop=asyncio.Event())
        stack.callback(asyncio.create_task(watch, name="cronty schema").cancel)

    async def why_not_ready(self) -> str | None:
        """Why this process can't do its work now, or None if it can; it answers in time whatever the database does."""
        if self._database is None:
            return "Cronty isn't open."
        away = await why_not_writable(self._database, ANSWER_WITHIN)
        return away or (None if self._engine is None else self._engine.why_stuck())

    async def open_database(self) -> str:
        """The database's URL, with its schema in place: a local one is migrated, anybody else's only checked."""
        url = self.settings.database_url
        if url is None:
            url = await asyncio.to_thread(start_local_server, self.settings.data_dir)
            await migrate(url, server=self.settings.server_number)
        (await schema_state(url)).require()
        return url

    async def check_schema(self) -> float:
        """A newer version may upgrade the database while this one is at work: go on beside it, or give up."""
        if self._database is None or self._outgrown is not None:
            return LONGEST_REST
        state = await state_of(self._database)
        if problem := state.problem():
            if self._outgrown is None:  # else another look is giving up just now
                await self._give_up(problem)
        elif state.newer != self._newer:
            self._newer = state.newer
            telemetry.schema_newer(state.newer)
        return LONGEST_REST

    async def _give_up(self, problem: SchemaProblem) -> None:
        """The database isn't ours any more: finish what runs, start nothing, answer nothing."""
        telemetry.schema_refused(problem)
        self._outgrown = problem
        await self._stop_engine()
        self.when_outgrown()

    async def _stop_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.stop()

    def _made_with_the_key[T](self, read: Callable[[str], T]) -> T | None:
        """With the key of the settings; a local installation keeps one of its own."""
        if self.settings.secret_key is not None:
            return read(self.settings.secret_key.get_secret_value())
        return read(key_of_folder(self.settings.data_dir)) if self.settings.database_url is None else None

    def start(self) -> None:
        """Open in a background thread, for programs that aren't async; returns when it is ready."""
        if self._thread is not None:
            raise RuntimeError("Cronty is started already.")
        ready = threading.Event()
        failure: list[BaseException] = []

        async def serve() -> None:
            self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
            try:
                async with self:
                    ready.set()
                    await self._ending.wait()
            except BaseException as error:
                failure.append(error)
            finally:
                ready.set()

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), name="cronty", daemon=True)
        self._thread.start()
        ready.wait()
        if failure:
            self._thread.join()
            self._thread = None
            raise failure[0]

    def stop(self) -> None:
        """Close what `start` opened; runs in flight get their time to finish."""
        if self._thread is None or self._loop is None or self._ending is None:
            return
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._thread = None

    def wait[T](self, call: Coroutine[Any, Any, T]) -> T:
        """Make a call from a program that isn't async: `cronty.wait(cronty.list_jobs())`."""
        if self._thread is None or self._loop is None:
            call.close()
            raise RuntimeError("Cronty isn't started; call cronty.start() first.")
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def _open_doors(self, database: Database, jobs: JobStore) -> Doors:
        settings = self.settings
        scheduler = Scheduler(jobs, settings.zone, self._limits, settings.run)
        secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else None
        provider = None
        if settings.oidc_issuer and settings.oidc_jwks_url:
            provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, self._fetch)
        return Doors(
            scheduler,
            Inbox(InboxStore(database)),
            Runs(RunStore(database), scheduler),
            Channels(ChannelStore(database, self._made_with_the_key(Sealer.read)), self._courier),
            Identity(KeyStore(database), settings.public_url, secret, provider),
            AuditStore(database, self._made_with_the_key(Signer.read)),
            Overview(OverviewStore(database), scheduler),
            self.push,
            OwnerStore(database),
        )

    async def _fetch(self, url: str) -> bytes:
        answer = await self._outbound.send("GET", url)
        require_success(answer, url)
        return answer.body

    @property
    def doors(self) -> Doors:
        """Everything a caller may ask, for any owner."""
        if self._outgrown is not None:
            raise self._outgrown
        if self._doors is None:
            raise RuntimeError("Cronty isn't open; use `async with cronty:` or cronty.start() first.")
        return self._doors

    @property
    def scheduler(self) -> Scheduler:
        """The door itself, for any owner."""
        return self.doors.scheduler

    @property
    def inbox(self) -> Inbox:
        """The prompts that have fired, for any owner."""
        return self.doors.inbox

    @property
    def runs(self) -> Runs:
        """Single runs, for any owner: one in full, what failed, and trying that again."""
        return self.doors.runs

    @property
    def channels(self) -> Channels:
        """Where reminders go, for any owner."""
        return self.doors.channels

    @property
    def identity(self) -> Identity:
        """Who is calling: API keys and tokens."""
        return self.doors.identity

    @property
    def trail(self) -> AuditStore:
        """Who did what, for any owner: read, export, verify."""
        return self.doors.trail

    async def push(self, owner: str | None = None, /, **fields: Any) -> dict[str, object]:
        """Send a notification at once; the fields are those of the task `notify`."""
        if refused := await self.scheduler.allowance.for_push(owner or self.owner):
            raise NotAllowed(refused)
        url = await self.channels.url(owner or self.owner, str(fields.get("topic")))
        return await self._notify.push(url, **fields)

    async def _channel_of_owner(self, owner_id: int, topic: str) -> str | None:
        return await self.channels.url_of_id(owner_id, topic)


def _limits(text: str) -> Limits:
    try:
        return read_limits(DEFAULTS, orjson.loads(text or "{}"))
    except (orjson.JSONDecodeError, BadLimits, AttributeError) as bad:
        raise ValueError(f"CRONTY_LIMITS can't be read: {bad}") from None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
