"""Typed tasks: a function that can be called, scheduled and enqueued, with its own parameters and result.

Options go through `options(…)`, because Python's types allow no keyword beside the function's own parameters.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil, inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, overload, override

from cronty.actions.hints import WrongArguments
from cronty.actions.tasks import NOT_KEPT
from cronty.actions.tasks import Task as Registered
from cronty.app.declared import Schedule
from cronty.app.programs import Program
from cronty.contract.answers import ScheduledJob
from cronty.contract.operations import Operations
from cronty.contract.requests import ScheduleJob, TriggerType
from cronty.contract.result import CrontyError, Err, value_of
from cronty.timing.past_said import on_24_hours

if TYPE_CHECKING:
    from cronty.app.cronty import Cronty

FIRST_LOOK: Final = 0.02
LONGEST_LOOK: Final = 1.0
"""Seconds between looks at a run whose result is waited for: from the first, each twice as long, to the longest."""

LONGEST_DELAY: Final = 10 * 366 * 86400
_CRON: Final = re.compile(r"\s*[\d*/,-]+\s+[\d*/,-]+\s")
NOT_ENDED: Final = frozenset({"waiting", "running"})


class TaskFailed(Exception):
    """A run that was waited for didn't succeed. `traceback` is where its last attempt failed, as Python prints it."""

    def __init__(self, run_id: str, verdict: str, error: str | None, traceback: str | None = None) -> None:
        said = f"{run_id} is {verdict}: {error}" if error else f"{run_id} is {verdict}"
        super().__init__(f"{said}\n\n{traceback.rstrip()}" if traceback else said)
        self.run_id = run_id
        self.verdict = verdict
        self.error = error
        self.traceback = traceback


class ResultNotKept(Exception):
    """A run that was waited for succeeded, but its result was too large to be kept, or isn't JSON."""

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"{run_id} is done, but its result wasn't kept: {why}")
        self.run_id = run_id
        self.why = why


@dataclass(frozen=True, slots=True, repr=False)
class Run[R]:
    """A run of a task that was enqueued."""

    cronty: "Cronty"
    task: Registered
    job_id: str
    run_id: str

    @override
    def __repr__(self) -> str:
        return f"<{self.run_id} of {self.task.name}>"

    async def result(self, timeout: float | None = None) -> R:
        """Wait for the run to end, also while the database is away.

        TaskFailed if it doesn't succeed, ResultNotKept if there is no result to return, TimeoutError if it takes longer
        than `timeout`.
        """
        ends = inf if timeout is None else monotonic() + timeout
        rest = FIRST_LOOK
        while True:
            left = ends - monotonic()
            found = await self._look()
            if found is not None:
                return self._restored(found[0])
            if left <= 0:
                raise TimeoutError(f"{self.run_id} hasn't ended within {timeout:g} s.")
            await asyncio.sleep(min(rest, left))
            rest = min(2 * rest, LONGEST_LOOK)

    def _restored(self, stored: object) -> R:
        found = stored
        if isinstance(found, dict) and list(named := cast("dict[str, object]", found)) == [NOT_KEPT]:
            raise ResultNotKept(self.run_id, str(named[NOT_KEPT]))
        return cast("R", self.task.hints.result(stored))

    async def _look(self) -> tuple[object] | None:
        """Its result; None while it hasn't ended."""
        try:
            run = await self.cronty.show_run(self.run_id)
        except CrontyError as refused:
            if refused.code not in ("not_found", "unavailable"):
                raise
            return None  # it hasn't been fired yet, or the database is away
        if run.verdict == "done":
            return (run.result,)
        if run.verdict not in NOT_ENDED:
            traceback = await self.cronty.service.runs.traceback(self.cronty.caller, self.run_id)
            raise TaskFailed(self.run_id, run.verdict, run.error or run.reason, traceback)
        return None


@dataclass(frozen=True, slots=True)
class Options:
    """How a task is scheduled; what is None is left to the task, and else to the usual."""

    name: str | None = None
    zone: str | None = None
    tags: Sequence[str] | None = None
    policy: Mapping[str, Any] | None = None
    starts_at: str | datetime | None = None
    ends_at: str | datetime | None = None
    max_runs: int | None = None
    idempotency_key: str | None = None
    delay: float | timedelta | None = None
    unique: bool | str | None = None
    connection: object | None = None


class Schedulable[**P, R]:
    """A task with the options it is scheduled with."""

    def __init__(self, cronty: "Cronty", registered: Registered, options: Options) -> None:
        self.cronty = cronty
        self.registered = registered
        self.given = options

    @property
    def name(self) -> str:
        """What the task is registered as."""
        return self.registered.name

    @property
    def module(self) -> str:
        """Where its function is defined."""
        return getattr(self.registered.function, "__module__", "")

    @property
    def program(self) -> Program:
        """The program that it is a task of."""
        return self.cronty.program_of(self.module)

    @property
    def usual_policy(self) -> Mapping[str, Any]:
        """What its jobs have as their policy, unless they say otherwise."""
        return cast("Mapping[str, Any]", self.registered.parameters.get("policy", {}))

    def options(
        self,
        *,
        name: str | None = None,
        zone: str | None = None,
        tags: Sequence[str] | None = None,
        policy: Mapping[str, Any] | None = None,
        starts_at: str | datetime | None = None,
        ends_at: str | datetime | None = None,
        max_runs: int | None = None,
        idempotency_key: str | None = None,
        delay: float | timedelta | None = None,
        unique: bool | str | None = None,
        connection: object | None = None,
    ) -> "Schedulable[P, R]":
        """The same task with other options: `await report.options(name="r-7").schedule("in 2 hours", order)`.

        The last three are for `enqueue`: after how many seconds it may run; whether a run that waits already will do,
        one with the same arguments (True) or with the same key; and a connection of yours, in whose open transaction
        the run is made, so that it exists only if you commit.
        """
        given = Options(
            name, zone, tags, policy, starts_at, ends_at, max_runs, idempotency_key, delay, unique, connection
        )
        changed = {one: getattr(given, one) for one in Options.__slots__ if getattr(given, one) is not None}
        return Schedulable(self.cronty, self.registered, replace(self.given, **changed))

    async def schedule(self, when: str | datetime | timedelta, /, *args: P.args, **kwargs: P.kwargs) -> ScheduledJob:
        """Schedule the task: in words, at a moment, or after a time. Hours in words are on the 24-hour clock."""
        asked = self.given
        if asked.delay is not None or asked.unique or asked.connection is not None:
            message = "delay, unique and connection are options of enqueue, not of schedule."
            raise CrontyError(Err("bad_request", message, "Leave them out, or enqueue with a delay."))
        return await self.cronty.ask(Operations.schedule_job, self._request(trigger_of(when), args, kwargs))

    def every(self, when: str, /, *args: P.args, **kwargs: P.kwargs) -> Schedule:
        """A schedule, for `cronty.schedules([…])`: `report.options(name="sales").every("monday at 7:00", "sales")`."""
        check_words(when)
        asked = self.given
        if asked.delay is not None or asked.unique or asked.connection is not None or asked.idempotency_key is not None:
            message = "delay, unique, connection and idempotency_key aren't options of a schedule in code."
            raise CrontyError(Err("bad_request", message, "Leave them out; its name is what it is known by."))
        self.stored(args, kwargs)  # refuse bad arguments now
        return Schedule(with_every(when), self, args, kwargs, when)

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Run the task once, as soon as a worker can, or after the `delay` of its options."""
        asked, cronty = self.given, self.cronty
        trigger = ("once", {"run_at": "now"}) if asked.delay is None else trigger_of(_as_time(asked.delay))
        request = value_of(Operations.schedule_job.check(self._request(trigger, args, kwargs)))
        made = await cronty.service.enqueue(cronty.caller, request, asked.unique or False, asked.connection)
        started = value_of(made)
        return Run(cronty, self.registered, started.job_id, started.run_id)

    def _request(
        self, trigger: tuple[TriggerType, Mapping[str, Any]], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> ScheduleJob:
        asked = self.given
        given, named = self.stored(args, kwargs)
        return ScheduleJob(
            asked.name or self.name, self.name, *trigger, args=given, kwargs=named, max_runs=asked.max_runs,
            timezone=asked.zone, policy=asked.policy, idempotency_key=asked.idempotency_key, tags=asked.tags,
            starts_at=asked.starts_at, ends_at=asked.ends_at,
        )  # fmt: skip

    def stored(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments as they are stored; CrontyError if the task can't be called with them."""
        try:
            return self.registered.hints.stored(args, kwargs)
        except (WrongArguments, TypeError, ValueError) as wrong:
            message = f"{self.name} can't be called with that: {str(wrong).rstrip('.')}."
            raise CrontyError(Err("bad_arguments", message, "Give arguments that fit its hints.")) from wrong


class Task[**P, R](Schedulable[P, R]):
    """A registered function. Calling it performs it here and now, without a run."""

    def __init__(self, cronty: "Cronty", registered: Registered, options: Options) -> None:
        super().__init__(cronty, registered, options)
        self.__name__ = registered.name
        self.__doc__ = registered.function.__doc__
        self.__wrapped__ = registered.function

    @property
    def function(self) -> Callable[P, object]:
        return cast("Callable[P, object]", self.registered.function)

    @override
    def __repr__(self) -> str:
        return f"<task {self.name}>"


class PlainTask[**P, R](Task[P, R]):
    """A task whose function is a plain one."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("R", self.function(*args, **kwargs))


class AsyncTask[**P, R](Task[P, R]):
    """A task whose function is a coroutine function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return cast("Coroutine[Any, Any, R]", self.function(*args, **kwargs))


def trigger_of(when: str | datetime | timedelta) -> tuple[TriggerType, Mapping[str, Any]]:
    """The trigger type and its configuration. A time is rounded up to whole seconds."""
    if isinstance(when, datetime):
        if when.tzinfo is None:
            message = f"{when.isoformat()} names no time zone."
            raise CrontyError(
                Err("bad_trigger", message, "Give an aware datetime: datetime.now(UTC), or with a ZoneInfo.")
            )
        return "once", {"run_at": when.isoformat()}
    if isinstance(when, timedelta):
        return "words", {"text": f"in {ceil(when.total_seconds())} seconds"}
    return "words", {"text": on_24_hours(when)}


def _as_time(delay: float | timedelta) -> timedelta:
    seconds: object = delay.total_seconds() if isinstance(delay, timedelta) else delay
    if not isinstance(seconds, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CrontyError(Err("bad_request", f"{delay!r} is no delay.", "Give seconds, or a timedelta."))
    if not 0 <= seconds <= LONGEST_DELAY:
        message = f"{seconds:g} seconds is no delay."
        raise CrontyError(Err("bad_request", message, "Give 0 seconds or more, up to ten years."))
    return timedelta(seconds=seconds)


def check_words(when: object) -> None:
    """What declares a schedule takes words: TypeError for anything else."""
    if callable(when):
        name = getattr(when, "__name__", "it")
        raise TypeError(f'Say when {name} runs: @cronty.every("day at 9:00").')
    if not isinstance(when, str):
        raise TypeError(f'every takes words, as in every("5 minutes") or every("day at 9:00"), not {when!r}.')


def with_every(when: str) -> str:
    """`every` is said by the method's name already; hours are on the 24-hour clock."""
    if _CRON.match(when):
        return when
    first = when.split(maxsplit=1)[:1]
    when = on_24_hours(when)
    return when if first and first[0].lower() in ("every", "each", "daily", "weekly", "monthly") else f"every {when}"


class Registering(Protocol):
    """What `@cronty.task(…)` returns: it turns a function into a task."""

    @overload
    def __call__[**P, R](self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__[**P, R](self, function: Callable[P, R], /) -> PlainTask[P, R]: ...
