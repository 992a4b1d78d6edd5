"""The public class `Cronty`: every operation in your own program; it opens and closes everything."""

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal, Self, cast, overload

from pydantic import ValidationError

from cronty import telemetry
from cronty.actions.around import Middleware, checked_middleware
from cronty.actions.tasks import Registry, running_in
from cronty.app.assembly import limits_of, make_engine, make_service, queues_of
from cronty.app.background import Background
from cronty.app.declared import Schedule, WhenGone, check_declared, check_gone, sync
from cronty.app.figures import metrics_text, why_late
from cronty.app.lifespan import Lifespan
from cronty.app.machine_zone import machine_zone
from cronty.app.namesakes import performs, refuse_namesakes
from cronty.app.outside import Lookups, Outside
from cronty.app.programs import Program, named_program, program_of
from cronty.app.tasks import AsyncTask, Options, PlainTask, Registering, Run, Schedulable, Task, check_words
from cronty.contract.caller import Caller, local_caller
from cronty.contract.operation import AsyncApi, Operation
from cronty.contract.operations import Operations
from cronty.contract.result import Result, value_of
from cronty.engine.by_hand import ByHand, ahead_of
from cronty.engine.engine import Engine
from cronty.engine.loop import MAX_REST, keep_doing
from cronty.jobs.envelope import RunFacts
from cronty.jobs.ids import read_job_id
from cronty.jobs.job import Job
from cronty.jobs.policy import make_policy
from cronty.jobs.task_settings import Priority
from cronty.scheduler import Service
from cronty.scheduler.agenda import NOT_PENDING, Agenda, When
from cronty.settings import BadSetting, Settings, in_words
from cronty.store.database import Clock, Database, StoreMisnamed, StoreUnavailable
from cronty.store.fleet_store import Figures, FleetStore
from cronty.store.health import why_not_writable
from cronty.store.job_store import JobStore
from cronty.store.kept_heads import KeptHeads
from cronty.store.local import start_local_server
from cronty.store.migrate import migrate, schema_state
from cronty.store.owner_store import OwnerStore
from cronty.store.replica import Replica, replica_url
from cronty.store.schema import SchemaProblem, state_of
from cronty.telemetry import LocalOutage, Outage, ReplicaOutage

RETRY_REST: Final = 1.0
"""Seconds between attempts to open the database."""

REVIVE_REST: Final = 0.5
"""Seconds between two looks after a local database that fails."""

HEADS_EVERY: Final = 60.0
ANSWER_WITHIN: Final = 2.0
_OTHER_LOOP: Final = (
    "Cronty was opened on another event loop than this one: from another thread, call cronty.wait(report.enqueue(…)) "
    "instead of asyncio.run(…)."
)
_CLOSED: Final = "Cronty isn't open; use `async with cronty:` or cronty.start() first."


class Cronty(Operations, AsyncApi):
    """A scheduler in your program: register tasks, open it, schedule. A refusal is raised as `CrontyError`.

    `async with cronty:` runs everything on the current event loop; `start()` and `stop()` run it in a background
    thread, and `wait()` makes a call from there. Without a database URL (argument, or CRONTY_DATABASE_URL) a local
    PostgreSQL is started, which needs `cronty[local]`. `patience` is how many seconds to wait for a
    database that can't be reached. `program` is whose the tasks and the schedules in code are, if neither the
    package of their functions nor the script's name should say that.
    """

    surface: Literal["python", "cli"] = "python"

    def __init__(
        self,
        database_url: str | None = None,
        *,
        owner: str = "local",
        concurrency: int | None = None,
        queues: Sequence[str] | None = None,
        run_jobs: bool = True,
        data_dir: Path | None = None,
        program: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        if isinstance(queues, str):
            raise TypeError(f"queues is a list of names, as in Cronty(queues=[{queues!r}]), not the text {queues!r}.")
        given = {"database_url": database_url, "concurrency": concurrency, "data_dir": data_dir}
        given["queues"] = None if queues is None else ",".join(queues)
        given = {name: value for name, value in given.items() if value is not None}
        try:
            self.settings = Settings(**given)  # pyright: ignore[reportArgumentType]
        except ValidationError as wrong:
            raise BadSetting(in_words(wrong, given)) from None
        limits_of(self.settings)  # refuse bad limits now
        queues_of(self.settings)
        self.owner = owner
        self.registry = Registry()
        self.declared: list[Schedule] = []
        self.when_gone: WhenGone = "pause"
        self.program = None if program is None else named_program(program)
        self._declared_in: set[str] = set()
        self._middleware: list[Middleware] = []
        self._lifespans: list[Lifespan[Any]] = []
        self._outside = Outside(self.settings, owner, Lookups(self._channel, self._owner_name, self._facts))
        self._outside.register(self.registry)
        self.run_jobs: bool = run_jobs
        self.die_when_stuck = False
        self.patience = 0.0
        self._outage = Outage() if self.settings.database_url is not None else LocalOutage()
        self._clock = clock
        self._by_hand = False
        self._stack = AsyncExitStack()
        self._service: Service | None = None
        self._engine: Engine | None = None
        self._database: Database | None = None
        self._hot: Database | None = None
        self._fleet: FleetStore | None = None
        self._newer: list[str] = []
        self._outgrown: SchemaProblem | None = None
        self.when_outgrown: Callable[[], None] = lambda: None
        self._background = Background(self)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def _channel(self, owner_id: int, topic: str) -> str | None:
        return await self.service.channels.url_of_id(owner_id, topic)

    async def _owner_name(self, owner_id: int) -> str | None:
        return await OwnerStore(self.database).name_of(owner_id)

    async def _facts(self, owner_id: int, job_id: int, slot: datetime) -> RunFacts | None:
        return await self.service.inbox.about(owner_id, job_id, slot)

    # -- tasks --------------------------------------------------------------------------------------------------

    @overload
    def task[**P, R](self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def task[**P, R](self, function: Callable[P, R], /) -> PlainTask[P, R]: ...
    @overload
    def task(
        self, /, *, name: str | None = None, owners: Sequence[str] | None = None, retries: int | None = None,
        timeout: float | None = None, policy: Mapping[str, Any] | None = None, process: bool = False,
        concurrency: int | None = None, limit: str | None = None, priority: Priority | None = None,
        queue: str | None = None,
    ) -> Registering: ...  # fmt: skip
    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        owners: Sequence[str] | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        policy: Mapping[str, Any] | None = None,
        process: bool = False,
        concurrency: int | None = None,
        limit: str | None = None,
        priority: Priority | None = None,
        queue: str | None = None,
    ) -> object:
        """Register a function (plain or async) under its own name, or under `name`, for every owner or for `owners`.

        `retries`, `timeout` (seconds) and `policy` hold for every job of this task that doesn't say otherwise.
        `process` performs a plain function in a process of its own, so that it can compute beside the others.
        `concurrency` is how many runs of it all workers together perform at once; `limit` names a limit that it shares
        with other tasks (see `limit`). Runs that must wait are late, and none is lost. Those of a task whose `priority`
        is "urgent" go before all others. `queue` is for workers that perform only some: `Cronty(queues=[…])`.
        """
        usual = {**(policy or {})}
        if retries is not None:
            if not isinstance(retries, int):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"retries is a whole number, as in @cronty.task(retries=3), not {retries!r}.")
            usual["attempts"] = retries + 1
        if timeout is not None:
            usual["timeout"] = timeout
        make_policy(usual)  # refuse a bad one now

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            registered = self.registry.add(
                function, name, owners, usual, self._middleware, process=process, concurrency=concurrency, limit=limit,
                priority=priority, queue=queue,
            )  # fmt: skip
            return (AsyncTask if registered.is_async else PlainTask)(self, registered, Options())

        return register if function is None else register(function)

    def limit(self, name: str, *, per_minute: int | None = None, at_once: int | None = None) -> None:
        """A limit for all runs of the tasks that name it, `@cronty.task(limit="…")`, across all workers.

        At most `per_minute` attempts start within any 60 seconds, and at most `at_once` are under way. When one raises
        `RetryAfter`, none starts until that time has passed, a day at most.
        """
        self.registry.limit(name, at_once, per_minute)

    def middleware[M: Middleware](self, function: M, /) -> M:
        """Register an async function `(run, call_next)` around every task of this program, the first one outermost."""
        self._middleware.append(checked_middleware(function))
        return function

    def lifespan[T](self, function: Callable[[], AsyncGenerator[T]], /) -> Lifespan[T]:
        """Register an async function that yields once: a worker opens it before its first run, and closes it after its
        last. Calling what this returns gives tasks what was yielded."""
        self._lifespans.append(made := Lifespan(function))
        return made

    def every(
        self,
        when: str,
        /,
        *,
        name: str | None = None,
        zone: str | None = None,
        tags: Sequence[str] = (),
        retries: int | None = None,
        timeout: float | None = None,
        policy: Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        limit: str | None = None,
        priority: Priority | None = None,
        queue: str | None = None,
    ) -> Registering:
        """Register a function without parameters and declare its schedule: `@cronty.every("weekday at 3:00")`.

        A program that performs jobs makes its schedules when it opens, changes those that were changed, and pauses
        those that are gone. The function's name is the job's, or `name`.
        """

        check_words(when)

        def declare(function: Callable[..., Any]) -> object:
            task = self.task(
                name=name, retries=retries, timeout=timeout, policy=policy, concurrency=concurrency, limit=limit,
                priority=priority, queue=queue,
            )(function)  # fmt: skip
            self._declare([task.options(zone=zone, tags=tags).every(when)])
            return task

        return cast("Registering", declare)

    def schedules(self, declared: Iterable[Schedule], *, gone: WhenGone = "pause") -> None:
        """Declare schedules of tasks with arguments: `[report.options(name="sales").every("monday at 7:00", "sales")]`.

        An empty list says that the program has none any more. `gone`: what becomes of jobs that left the code.
        """
        check_gone(gone)
        self._declare(declared)
        self.when_gone = gone
        frame = inspect.currentframe()
        self._declared_in.add("" if frame is None or frame.f_back is None else frame.f_back.f_globals["__name__"])

    def _declare(self, new: Iterable[Schedule]) -> None:
        self.declared = check_declared(self, [*self.declared, *new])

    def program_of(self, module: str) -> Program:
        """The program that a function of this module is of."""
        return self.program or program_of(module, by_place=self.settings.database_url is None)

    @property
    def programs(self) -> set[Program]:
        """The programs whose schedules are declared here; of every task, once `schedules` was called."""
        return {self.program_of(module) for module in self._declaring}

    @property
    def former(self) -> set[Program]:
        """What the programs that have a name now were known by before."""
        if self.program is None:
            return set()
        return {program_of(one, by_place=self.settings.database_url is None) for one in self._declaring}

    @property
    def _declaring(self) -> set[str]:
        """The modules of the program that declares schedules."""
        modules = {one.task.module for one in self.declared} | self._declared_in
        if self._declared_in:
            modules |= {str(task.function.__module__) for task in self.registry.tasks.values()}
        return {one for one in modules if one and not one.startswith("cronty.")}

    def named(self, task: str) -> Schedulable[..., Any]:
        """A task by its name, also one that only another program has: `cronty.named("pay").options(delay=60)`."""
        known = self.registry.tasks.get(task) or Registry().add(_anything, task)
        return Schedulable(self, known, Options())

    async def enqueue(self, task: str, /, *args: Any, **kwargs: Any) -> Run[Any]:
        """Run a task once, by its name, as soon as a worker can."""
        return await self.named(task).enqueue(*args, **kwargs)

    # -- asking -------------------------------------------------------------------------------------------------

    @property
    def caller(self) -> Caller:
        """This program, or the run it is performing; it has every scope."""
        return replace(local_caller(self.owner, self.surface, trusted=True), run=running_in())

    async def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        checked = value_of(operation.check(request))
        return value_of(await self.service.answer(operation, self.caller, checked))

    @property
    def service(self) -> Service:
        """Answers every operation, for any caller."""
        if self._outgrown is not None:
            raise self._outgrown
        if self._service is None:
            raise RuntimeError(_CLOSED)
        self._background.check_process()
        running = asyncio._get_running_loop()
        if running is not None and running is not self._loop:
            raise RuntimeError(_OTHER_LOOP)
        return self._service

    @property
    def database(self) -> Database:
        if self._database is None:
            raise RuntimeError(_CLOSED)
        return self._database

    # -- the agenda ---------------------------------------------------------------------------------------------

    async def schedule_prompt(self, at: datetime, prompt: str) -> int:
        """Put a prompt for an agent on the agenda; returns its number."""
        made = value_of(await self._agenda.add(self.caller, prompt, ("once", {"run_at": at})))
        return read_job_id(made.job_id) or 0

    async def list_scheduled_tasks(
        self, status: str = "pending", since: datetime | None = None, until: datetime | None = None
    ) -> list[Job]:
        """The agenda by status and range, ordered by fire time."""
        return value_of(await self._agenda.list(self.caller, status, since, until)).jobs

    async def update_scheduled_task(
        self, task_id: int, *, fire_at: datetime | None = None, prompt: str | None = None
    ) -> int:
        """Change an item that is still pending; returns how many rows changed, 0 if there is none to edit."""
        if fire_at is None and prompt is None:
            raise ValueError("Give at least one of fire_at and prompt.")
        when: When | None = None if fire_at is None else ("once", {"run_at": fire_at})
        return _rows_changed(await self._agenda.edit(self.caller, task_id, prompt, when))

    async def cancel_scheduled_task(self, task_id: int) -> int:
        """Cancel an item that is still pending; returns how many rows changed."""
        return _rows_changed(await self._agenda.cancel(self.caller, task_id))

    @property
    def _agenda(self) -> Agenda:
        return Agenda(self.service)

    # -- opening and closing ------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._refuse_to_open_twice()
        self._outgrown, self._loop = None, asyncio.get_running_loop()
        self._background.pid = os.getpid()
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._close()
        if self._outgrown is not None and not any(error):
            raise self._outgrown

    def _refuse_to_open_twice(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("Cronty is open already: open it once, or make another Cronty(…) to open beside it.")

    async def _close(self) -> None:
        try:
            await self._stack.aclose()
        finally:
            self._loop = self._background.pid = None

    async def _open(self) -> None:
        self._stack.push_async_callback(self._outside.aclose)
        ends = monotonic() + self.patience
        while True:
            try:
                async with AsyncExitStack() as trying:
                    await self._open_store(trying)
                    self._stack.push_async_exit(trying.pop_all())
                    return
            except StoreMisnamed:
                raise
            except StoreUnavailable as outage:
                if monotonic() + RETRY_REST > ends:
                    raise
                self._outage.fault(outage)
                await asyncio.sleep(RETRY_REST)

    async def _open_store(self, stack: AsyncExitStack) -> None:
        url = await self.open_database()
        direct = self.settings.direct_url
        sizes = self.settings.door_connections, self.settings.engine_connections
        self._fleet = None
        database = self._database = await Database(
            url, direct=direct, clock=self._clock, size=sizes[0], outage=self._outage
        ).open()
        stack.push_async_callback(database.close)
        if self.settings.replica_url is not None:
            copy = Database(replica_url(self.settings.replica_url), clock=self._clock, outage=ReplicaOutage())
            database.replica = Replica(copy, database)
            stack.push_async_callback(copy.close)
        jobs = JobStore(database)
        stack.push_async_callback(jobs.close)
        self._service = make_service(self.settings, database, jobs, self._outside)
        stack.callback(self._refuse_calls)  # only when runs in flight have ended and lifespans are closed: both may ask
        await refuse_namesakes(self, jobs)
        await jobs.publish(self.registry.published())
        if self.settings.database_url is None and "zone" not in self.settings.model_fields_set:
            await self._service.scheduler.suggest_zone(self.caller, machine_zone() or "UTC")
        if self.run_jobs:
            clock = ahead_of(self._clock) if self._by_hand and self._clock else self._clock
            hot = self._hot = await Database(
                url, direct=direct, clock=clock, size=sizes[1], hot=True, outage=self._outage
            ).open()
            if hot.almighty and not self._by_hand:
                telemetry.login_almighty()
            stack.push_async_callback(hot.close)
            for lifespan in self._lifespans:
                await stack.enter_async_context(lifespan.opened())
            self._engine = make_engine(
                self.settings, hot, self.registry, self._outside,
                performs=performs(self), die_when_stuck=self.die_when_stuck,
            )  # fmt: skip
            stack.push_async_callback(self._stop_engine)
            await self._engine.enlist()
            await refuse_namesakes(self, jobs, self._engine.worker)  # another one may have opened meanwhile
            if not self._by_hand:
                self._engine.begin()
            if (kept := self._service.trail.kept) is not None:
                stack.callback(asyncio.create_task(_keep_heads(kept), name="cronty heads").cancel)
        if self.run_jobs and self.programs:
            steps = [(step.change, step.name) for step in await sync(self)]
            telemetry.schedules_synced(", ".join(sorted(one.name for one in self.programs)), steps)
        if self.settings.database_url is None:
            wake = asyncio.Event()
            self._outage.when_it_fails = wake.set
            care = keep_doing("local database", self._revive, wake=wake, stop=asyncio.Event())
            stack.callback(asyncio.create_task(care, name="cronty local database").cancel)
        watch = keep_doing("schema", self.check_schema, wake=asyncio.Event(), stop=asyncio.Event())
        stack.callback(asyncio.create_task(watch, name="cronty schema").cancel)

    def _refuse_calls(self) -> None:
        self._service = None

    async def why_not_ready(self) -> str | None:
        """Why this process can't work now, or None if it can; it returns in time even if the database hangs."""
        if self._database is None:
            return "Cronty isn't open."
        reason = await why_not_writable(self._database, ANSWER_WITHIN)
        if reason is None and self._engine is not None:
            reason = self._engine.why_stuck() or why_late(await self._fleet_figures())
        return reason

    async def frozen(self) -> str | None:
        """A sentence if the installation is frozen (`cronty freeze`), else None; up to 5 seconds old."""
        figures = await self._fleet_figures()
        return None if figures is None or figures.frozen is None else figures.frozen.sentence

    async def metrics(self) -> str:
        """What Prometheus reads: this process, and the whole installation; it returns in time as well."""
        pools = {"door": self._database, "engine": self._hot}
        opened = {name: one for name, one in pools.items() if one is not None}
        return metrics_text(await self._fleet_figures(), self._engine, opened)

    async def _fleet_figures(self) -> Figures | None:
        if self._fleet is None and self._database is not None:
            self._fleet = FleetStore(self._database, ANSWER_WITHIN)
        return None if self._fleet is None else await self._fleet.look()

    async def open_database(self) -> str:
        """The database's URL, with its schema in place: a local database is migrated, any other is only checked."""
        url = self.settings.database_url
        if url is None:
            url = await asyncio.to_thread(start_local_server, self.settings.data_dir)
            await migrate(url, server=self.settings.server_number)
        (await schema_state(url)).require()
        return url

    async def _revive(self) -> float:
        """Start the local database again if somebody has killed it."""
        await asyncio.to_thread(start_local_server, self.settings.data_dir)
        await asyncio.sleep(REVIVE_REST)
        return MAX_REST

    async def check_schema(self) -> float:
        """A newer version may upgrade the database while this one runs: continue if it can, or give up."""
        if self._database is None or self._outgrown is not None:
            return MAX_REST
        state = await state_of(self._database)
        if problem := state.problem():
            if self._outgrown is None:  # else another check is giving up just now
                await self._give_up(problem)
        elif state.newer != self._newer:
            self._newer = state.newer
            telemetry.schema_newer(state.newer)
        return MAX_REST

    async def _give_up(self, problem: SchemaProblem) -> None:
        """This version can't use the database any more: finish running runs, start nothing, answer nothing."""
        telemetry.schema_refused(problem)
        self._outgrown = problem
        await self._stop_engine()
        self.when_outgrown()

    async def _stop_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.stop()

    @asynccontextmanager
    async def by_hand(self, database_url: str, clock: Clock) -> AsyncGenerator[ByHand]:
        """Open it on another database, with a clock of yours and an engine that waits to be told: for tests."""
        self._refuse_to_open_twice()
        settings, before, run_jobs = self.settings, self._clock, self.run_jobs
        self.settings = self.settings.model_copy(update={"database_url": database_url, "direct_url": None})
        self._clock, self.run_jobs, self._by_hand = clock, True, True
        try:
            async with self:
                assert self._engine is not None
                yield ByHand(self._engine)
        finally:
            self.settings, self._clock = settings, before
            self.run_jobs, self._by_hand = run_jobs, False

    # -- in a thread --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Open in a background thread, for programs that aren't async; returns when it is ready."""
        self._background.start()

    def stop(self) -> None:
        """Close what `start` opened; runs in flight get their time to finish."""
        self._background.stop()

    def wait[T](self, call: Coroutine[Any, Any, T]) -> T:
        """Make a call from a thread that isn't async, a task that is a plain function among them:
        `cronty.wait(report.enqueue(order))`."""
        return self._background.wait_for(call, self._loop)


async def _keep_heads(kept: KeptHeads) -> None:
    async def step() -> float:
        await kept.keep()
        return HEADS_EVERY

    await keep_doing("heads", step, wake=asyncio.Event(), stop=asyncio.Event(), longest=HEADS_EVERY)


def _anything(*_args: Any, **_kwargs: Any) -> Any:
    """Stands for a function that another program has; what may be given to it is known from what that published."""


def _rows_changed(result: Result[object]) -> int:
    if result is NOT_PENDING:
        return 0
    value_of(result)
    return 1
