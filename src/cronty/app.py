"""Puts it together: the public class `Cronty`, which opens and closes everything."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, overload

import orjson

from cronty.actions.command import agent_tasks
from cronty.actions.courier import Courier
from cronty.actions.notify import Notify
from cronty.actions.outbound import Outbound, require_success
from cronty.actions.prompt import prompt
from cronty.actions.tasks import Registry, running_in
from cronty.actions.webhook import Webhook
from cronty.engine.engine import Engine, EngineOptions
from cronty.jobs.action import Action
from cronty.jobs.answers import failed_answer, run_answer, scheduled_answer, status_answer, summary_answer
from cronty.jobs.envelope import RunFacts
from cronty.jobs.job import Job
from cronty.jobs.limits import DEFAULTS, BadLimits, Limits, read_limits
from cronty.jobs.result import Err, Result
from cronty.scheduler import JobChanges, JobRequest, Scheduler
from cronty.scheduler.agenda import NOT_PENDING, Agenda
from cronty.scheduler.channels import Channels
from cronty.scheduler.doors import Doors, NotAllowed
from cronty.scheduler.identity import Identity, Provider
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.overview import Overview
from cronty.scheduler.runs import Runs
from cronty.settings import Settings
from cronty.store.audit_store import AuditStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Clock, Database
from cronty.store.inbox_store import InboxStore
from cronty.store.job_store import Filter, JobStore
from cronty.store.key_store import KeyStore
from cronty.store.local import start_local_server
from cronty.store.migrate import SchemaOutdated, migrate, pending_migrations
from cronty.store.overview_store import OverviewStore
from cronty.store.run_store import RunStore
from cronty.store.sealing import Sealer, key_of_folder

type Answer = dict[str, object]


class Cronty:
    """A scheduler in your program: register tasks, open it, schedule.

    `async with cronty:` runs door and engine on the current event loop; `start()` and `stop()` run them in a
    background thread, and `wait()` makes a call from there. Without a database URL (argument, or
    CRONTY_DATABASE_URL) a local PostgreSQL is started, which needs `cronty[local]`.
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
        self._clock = clock
        self._stack = AsyncExitStack()
        self._doors: Doors | None = None
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: asyncio.Event | None = None

    def _register_built_in(self) -> tuple[Outbound, Notify]:
        """What may be scheduled with nothing registered: declarative actions, never code."""
        settings = self.settings
        outbound = Outbound(_listed(settings.allowed_hosts))
        token = settings.ntfy_token.get_secret_value() if settings.ntfy_token else None
        self._courier = Courier(outbound, _listed(settings.channel_schemes))
        notify = Notify(outbound, settings.ntfy_url, token, courier=self._courier, find=self._channel_of_job)
        self.registry.add(notify.notify, "notify")
        webhook = Webhook(outbound, _listed(settings.webhook_secrets))
        self.registry.add(webhook.webhook, "webhook")
        self.registry.declare(prompt)
        if settings.agents_file is not None:
            for name, wake in agent_tasks(settings.agents_file, webhook, self._about, os.environ).items():
                self.registry.add(wake, name)
        return outbound, notify

    async def _about(self, job_id: int, slot: datetime) -> RunFacts | None:
        return await self.inbox.about(job_id, slot)

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

    async def __aexit__(self, *_error: object) -> None:
        self._doors = self._engine = None
        await self._stack.aclose()

    async def _open(self) -> None:
        self._stack.push_async_callback(self._outbound.aclose)
        self._stack.push_async_callback(self._courier.aclose)
        url = await self.open_database()
        database = await Database(url, clock=self._clock).open()
        self._stack.push_async_callback(database.close)
        self._doors = self._open_doors(database)
        await JobStore(database).publish(self.registry.built_in())
        if self.run_jobs:
            hot = await Database(url, clock=self._clock, hot=True).open()
            self._stack.push_async_callback(hot.close)
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
            self._stack.push_async_callback(self._engine.stop)
            await self._engine.start()

    async def open_database(self) -> str:
        """The database's URL, with its schema in place: a local one is migrated, anybody else's only checked."""
        if self.settings.database_url is None:
            url = await asyncio.to_thread(start_local_server, self.settings.data_dir)
            await migrate(url)
            return url
        if missing := await pending_migrations(self.settings.database_url):
            raise SchemaOutdated(
                f"The database lacks {len(missing)} migration(s), {missing[0]} first. Run `cronty migrate`."
            )
        return self.settings.database_url

    def _sealer(self) -> Sealer | None:
        """With the key of the settings; a local installation keeps one of its own."""
        if self.settings.secret_key is not None:
            return Sealer.read(self.settings.secret_key.get_secret_value())
        return Sealer.read(key_of_folder(self.settings.data_dir)) if self.settings.database_url is None else None

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

    def _open_doors(self, database: Database) -> Doors:
        settings = self.settings
        scheduler = Scheduler(JobStore(database), settings.zone, self._limits, settings.run)
        secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else None
        provider = None
        if settings.oidc_issuer and settings.oidc_jwks_url:
            provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, self._fetch)
        return Doors(
            scheduler,
            Inbox(InboxStore(database)),
            Runs(RunStore(database), scheduler),
            Channels(ChannelStore(database, self._sealer()), self._courier),
            Identity(KeyStore(database), settings.public_url, secret, provider),
            AuditStore(database),
            Overview(OverviewStore(database), scheduler),
            self.push,
        )

    async def _fetch(self, url: str) -> bytes:
        answer = await self._outbound.send("GET", url)
        require_success(answer, url)
        return answer.body

    @property
    def doors(self) -> Doors:
        """Everything a caller may ask, for any owner."""
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

    async def _channel_of_job(self, job_id: int, topic: str) -> str | None:
        return await self.channels.url_of_job(job_id, topic)

    # -- jobs, as the third seed says them ----------------------------------------------------------------------

    async def schedule_job(
        self,
        name: str,
        task: str,
        trigger_type: str,
        trigger_config: Mapping[str, object],
        args: Sequence[object] | None = None,
        kwargs: Mapping[str, object] | None = None,
        max_runs: int | None = None,
        *,
        timezone: str | None = None,
        policy: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        tags: Sequence[str] = (),
        starts_at: datetime | str | None = None,
        ends_at: datetime | str | None = None,
    ) -> Answer:
        """Make a job from a registered task and a trigger: `once`, `interval` or `cron`."""
        request = JobRequest(
            name,
            Action(task, tuple(args or ()), dict(kwargs or {})),
            trigger_type,
            trigger_config,
            timezone=timezone,
            policy=policy or {},
            max_runs=max_runs,
            tags=tags,
            starts_at=starts_at,
            ends_at=ends_at,
            idempotency_key=idempotency_key,
            origin=_origin(),
        )
        result = await self.scheduler.schedule(self.owner, request)
        return _error(result) if isinstance(result, Err) else scheduled_answer(result.value)

    async def list_jobs(
        self,
        status: str | None = None,
        *,
        limit: int = 100,
        cursor: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Answer:
        """Jobs, those that fire next first, and how many match in all."""
        wanted = Filter(status, name, tag, None, since, until)
        result = await self.scheduler.list_jobs(self.owner, wanted, limit, cursor)
        if isinstance(result, Err):
            return _error(result)
        page = result.value
        return {
            "jobs": [summary_answer(job) for job in page.jobs],
            "total": page.total,
            "cursor": page.cursor,
        }

    async def job_status(self, job_id: str | int) -> Answer:
        """A job in full, with its last runs."""
        result = await self.scheduler.show(self.owner, job_id)
        if isinstance(result, Err):
            return _error(result)
        runs = await self.scheduler.list_runs(self.owner, job_id, limit=10)
        return status_answer(result.value, [] if isinstance(runs, Err) else runs.value)

    async def cancel_job(self, job_id: str | int) -> Answer:
        """End a job; true also if it had ended already."""
        result = await self.scheduler.cancel(self.owner, job_id)
        return {"cancelled": result.is_ok, "job_id": str(job_id)}

    async def pause_job(self, job_id: str | int) -> Answer:
        return await self._status_after(self.scheduler.pause, job_id)

    async def resume_job(self, job_id: str | int) -> Answer:
        return await self._status_after(self.scheduler.resume, job_id)

    async def delete_job(self, job_id: str | int) -> Answer:
        """Hide a job for good; its runs are kept."""
        result = await self.scheduler.delete(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else {"deleted": True, "job_id": str(job_id)}

    async def edit_job(self, job_id: str | int, *, expected_version: int | None = None, **changes: Any) -> Answer:
        """Change a job; the keywords are the fields of `JobChanges`, and `task`, `args`, `kwargs`."""
        shown = await self.scheduler.show(self.owner, job_id)
        if isinstance(shown, Err):
            return _error(shown)
        parts = {key: changes.pop(key) for key in ("task", "args", "kwargs") if key in changes}
        if parts:
            action = shown.value.action
            changes["action"] = Action(
                parts.get("task", action.task),
                tuple(parts.get("args", action.args)),
                parts.get("kwargs", action.kwargs),
            )
        result = await self.scheduler.edit(self.owner, job_id, JobChanges(**changes), expected_version)
        return _error(result) if isinstance(result, Err) else scheduled_answer(result.value)

    async def run_job_now(self, job_id: str | int) -> Answer:
        """Run a job once, now, beside its schedule."""
        result = await self.scheduler.run_now(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else {"run_id": result.value, "job_id": str(job_id)}

    async def list_runs(self, job_id: str | int, *, limit: int = 20, state: str | None = None) -> Answer:
        """The slots of a job, newest first, each with its verdict and reason."""
        shown = await self.scheduler.show(self.owner, job_id)
        result = await self.scheduler.list_runs(self.owner, job_id, limit, state=state)
        if isinstance(result, Err) or isinstance(shown, Err):
            return _error(result if isinstance(result, Err) else shown)  # pyright: ignore[reportArgumentType]
        return {"runs": [run_answer(run, shown.value.zone, shown.value.trigger) for run in result.value]}

    async def list_failed_runs(self, *, limit: int = 20, before: datetime | None = None) -> Answer:
        """What failed for good over all jobs, the latest first."""
        result = await self.runs.failed(self.owner, limit, before)
        return _error(result) if isinstance(result, Err) else {"runs": [failed_answer(one) for one in result.value]}

    async def redrive_runs(self, run_ids: Sequence[str]) -> Answer:
        """Try failed runs again, each under its own id; which of them will be."""
        result = await self.runs.redrive(self.owner, run_ids)
        if isinstance(result, Err):
            return _error(result)
        again = [run for run, accepted in result.value.items() if accepted]
        return {"redriven": again, "refused": [run for run in result.value if run not in again]}

    async def list_tasks(self) -> Answer:
        """What may be scheduled."""
        tasks = await self.scheduler.list_tasks()
        return {"tasks": [{"name": task.name, "parameters": task.parameters, "doc": task.doc} for task in tasks]}

    async def _status_after(
        self, act: Callable[[str, str | int], Coroutine[Any, Any, object]], job_id: str | int
    ) -> Answer:
        result = await act(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else await self.job_status(job_id)

    # -- the agenda, as the second seed says it -----------------------------------------------------------------

    async def schedule_prompt(self, at: datetime, prompt: str) -> int:
        """Put a prompt for an agent on the agenda; answers with its number."""
        return _or_raise(await self._agenda.add(self.owner, prompt, ("once", {"run_at": at}), origin=_origin())).id

    async def list_scheduled_tasks(
        self, status: str = "pending", since: datetime | None = None, until: datetime | None = None
    ) -> list[Job]:
        """The agenda by status and range, ordered by fire time."""
        return _or_raise(await self._agenda.list(self.owner, status, since, until))

    async def update_scheduled_task(
        self, task_id: int, *, fire_at: datetime | None = None, prompt: str | None = None
    ) -> int:
        """Change an item that is still pending; how many rows changed, so 0 if there is none to edit."""
        if fire_at is None and prompt is None:
            raise ValueError("Give at least one of fire_at and prompt.")
        when = None if fire_at is None else ("once", {"run_at": fire_at})
        return _rows_changed(await self._agenda.edit(self.owner, task_id, prompt, when))

    async def cancel_scheduled_task(self, task_id: int) -> int:
        """Cancel an item that is still pending; how many rows changed."""
        return _rows_changed(await self._agenda.cancel(self.owner, task_id))

    @property
    def _agenda(self) -> Agenda:
        return Agenda(self.scheduler)


def _origin() -> dict[str, object]:
    """Who asks: this program, or the run that it is performing."""
    run = running_in()
    return {"surface": "python"} if run is None else {"surface": "python", "run_id": run}


def _limits(text: str) -> Limits:
    try:
        return read_limits(DEFAULTS, orjson.loads(text or "{}"))
    except (orjson.JSONDecodeError, BadLimits, AttributeError) as bad:
        raise ValueError(f"CRONTY_LIMITS can't be read: {bad}") from None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _or_raise[T](result: Result[T]) -> T:
    if isinstance(result, Err):
        raise ValueError(result.message)
    return result.value


def _rows_changed(result: Result[Job]) -> int:
    if result is NOT_PENDING:
        return 0
    _or_raise(result)
    return 1


def _error(err: Err) -> Answer:
    """The one place that turns an `Err` into the shape of the third seed."""
    return {"error": err.message, "hint": err.hint} if err.hint else {"error": err.message}
