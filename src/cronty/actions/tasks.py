"""Registered functions: what they are called, what they take, and performing one."""

import asyncio
import inspect
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from inspect import isawaitable
from math import isfinite
from typing import Any, Final, cast

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from cronty.actions import around
from cronty.actions.around import Middleware, OnLoop, ending_nothing, through, through_from_thread
from cronty.actions.current import CurrentRun as CurrentRun
from cronty.actions.current import begin
from cronty.actions.current import current as current
from cronty.actions.current import current_run as current_run
from cronty.actions.current import performing as performing
from cronty.actions.current import running_in as running_in
from cronty.actions.hints import Hints, WrongArguments, given_parameters, hints_of, to_json
from cronty.jobs.outcome import DONE, Done, Failed, Outcome, Snoozed
from cronty.jobs.storable import made_storable
from cronty.jobs.task_settings import NOTHING_SET, Priority, TaskLimit, TaskSettings, named_limit, settings_of

MAX_RESULT_BYTES: Final = 64 * 1024
NOT_KEPT: Final = "not_kept"
"""The one key of what is stored instead of a result that can't be kept; its value says why."""

MAX_ERROR: Final = 2000
MAX_TRACEBACK: Final = 8000
MAX_SNOOZE: Final = timedelta(days=3653)

_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""A NUL in a text of JSON, and not a backslash with letters and figures after it."""

_OURS: Final = (__file__, around.__file__)

log = logging.getLogger("cronty.tasks")


class PermanentError(Exception):
    """Raised by a task to say that trying again can't help."""


class RetryAfter(Exception):
    """Raised by a task that failed, counted as such, and must not be tried again before `wait` has passed."""

    def __init__(self, message: str, wait: timedelta) -> None:
        super().__init__(message)
        self.wait = wait


class TargetGone(PermanentError):
    """What a task calls is there no more: its job is paused, so that nobody is called in vain."""


class Snooze(Exception):
    """Raised by a task to be tried again after `wait`, without counting as a failure."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__(f"snoozed for {wait}")
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Task:
    """A function under the name it is scheduled by."""

    name: str
    function: Callable[..., object]
    is_async: bool
    doc: str
    parameters: Mapping[str, object]
    hints: Hints
    owners: tuple[str, ...] | None = None
    """Who may use it; None for every owner."""
    settings: TaskSettings = NOTHING_SET
    around: Sequence[Middleware] | None = None
    """Its middleware; None for what is built in, which has none and keeps no tracebacks."""
    process: bool = False
    """Whether it is performed in a process of its own."""

    def serves(self, owner: str) -> bool:
        return self.owners is None or owner in self.owners


type Published = tuple[str, str, str, str | None]
"""A task as it is published: its name, its parameters as JSON, its doc, and its owners as JSON or None."""


@dataclass(slots=True)
class Registry:
    """The tasks this process can perform, and those it only knows of."""

    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    known: dict[str, Task] = field(default_factory=dict[str, Task])
    limits: dict[str, TaskLimit] = field(default_factory=dict[str, TaskLimit])

    def add(
        self,
        function: Callable[..., object],
        name: str | None = None,
        owners: Sequence[str] | None = None,
        policy: Mapping[str, object] | None = None,
        around: Sequence[Middleware] | None = None,
        *,
        process: bool = False,
        concurrency: int | None = None,
        limit: str | None = None,
        priority: Priority | None = None,
        queue: str | None = None,
    ) -> Task:
        """A function that this process performs, for these owners or (None) for every owner.

        `policy` is published with its parameters: a job of this task has it unless it says otherwise.
        `concurrency` is how many runs of it all workers perform at once, `limit` names one that it shares with others.
        `priority` is urgent for what goes before all that isn't. `queue` is for workers that choose queues.
        """
        task = self._task(function, name)
        settings = settings_of(task.name, concurrency, limit, priority, queue)
        task = replace(task, owners=None if owners is None else tuple(owners), around=around, settings=settings)
        if process:
            task = replace(task, process=_in_process(task))
        if policy:
            task = replace(task, parameters={**task.parameters, "policy": policy})
        self.tasks[task.name] = task
        return task

    def limit(self, name: str, at_once: int | None = None, per_minute: int | None = None) -> None:
        """A limit that tasks share by its name."""
        self.limits[name] = named_limit(name, at_once, per_minute)

    def settings(self) -> dict[str, dict[str, object] | None]:
        """What holds for each task across all workers, as it is stored; None where nothing is set."""
        return {
            task.name: replace(
                task.settings,
                limits=tuple(
                    limit if limit.declared else self.limits.get(limit.name, limit) for limit in task.settings.limits
                ),
            ).stored()
            for task in self.tasks.values()
        }

    def declare(self, function: Callable[..., object]) -> None:
        """Something that may be scheduled, and that no worker performs."""
        task = self._task(function, None)
        self.known[task.name] = task

    def _task(self, function: Callable[..., object], name: str | None) -> Task:
        _refuse_what_is_no_task(function)
        name = name or getattr(function, "__name__", "")
        if not name:
            raise ValueError(
                f"A {type(function).__name__} has no name to be known by: @cronty.task(name=…) gives it one."
            )
        if len(name) > 200:
            raise ValueError(f"A task needs a name of 1 to 200 characters, not {name!r}.")
        taken = self.tasks.get(name) or self.known.get(name)
        # By equality, because every look at a bound method makes a new object.
        if taken is not None and taken.function != function:
            raise ValueError(f"There is a task {name!r} already; give this one another name: @cronty.task(name=…).")
        called = type(function).__call__  # of an object that is called like a function
        if any(map(inspect.isasyncgenfunction, (function, called))):
            raise ValueError(f"{name} yields: nobody would run it. Make it an `async def` that returns.")
        return Task(
            name,
            function,
            any(map(inspect.iscoroutinefunction, (function, called))),
            inspect.getdoc(function) or "",
            describe_parameters(function),
            Hints(function),
        )

    def published(self) -> list[Published]:
        return [_described(task) for task in {**self.known, **self.tasks}.values()]

    def own(self) -> list[Task]:
        """What this program brings, and not every worker."""
        return [task for task in self.tasks.values() if task.around is not None]


def _refuse_what_is_no_task(function: object) -> None:
    if not callable(function):
        raise TypeError(f"A task is a function, and not {function!r}: @cronty.task above a `def` or an `async def`.")
    home, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    if inspect.isfunction(function) and home and not home.endswith("<locals>"):
        first = next(iter(inspect.signature(function).parameters), None)
        if first in ("self", "cls"):
            raise ValueError(
                f"{function.__qualname__} is a method: nobody could give {first} to its run. Make it a function at the "
                "top of the module, or a @staticmethod above @cronty.task."
            )


def _in_process(task: Task) -> bool:
    """True if another process can import the function, else ValueError."""
    qualname = getattr(task.function, "__qualname__", "<")
    if "<" in qualname or task.is_async or inspect.ismethod(task.function):
        raise ValueError(
            f"{task.name} can't be performed in a process of its own: make it a plain function (`def`) at the top of a "
            "module, so that the process can import it."
        )
    return True


def _described(task: Task) -> Published:
    owners = None if task.owners is None else orjson.dumps(task.owners).decode()
    return task.name, orjson.dumps(task.parameters).decode(), task.doc, owners


def describe_parameters(function: Callable[..., object]) -> dict[str, object]:
    """A JSON Schema of the keyword form, plus `positional`: the names in the order arguments fill them."""
    hints = hints_of(function)
    properties: dict[str, object] = {}
    required: list[str] = []
    positional: list[str] = []
    positional_only: list[str] = []
    shared: dict[str, object] = {}
    schema: dict[str, object] = {"type": "object", "properties": properties, "additionalProperties": False}
    for parameter in given_parameters(function, hints):
        if parameter.kind is parameter.VAR_POSITIONAL:
            schema["more_positional"] = True
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            schema["additionalProperties"] = True
            continue
        properties[parameter.name] = described = _schema_of(hints.get(parameter.name, Any), parameter)
        shared |= cast("dict[str, object]", described.pop("$defs", {}))  # where a $ref looks for them
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional_only.append(parameter.name)
        if parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(parameter.name)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    if shared:
        schema["$defs"] = shared
    if positional_only:
        schema["positional_only"] = positional_only
    return {**schema, "required": required, "positional": positional}


def _schema_of(hint: Any, parameter: inspect.Parameter) -> dict[str, object]:
    try:
        schema = TypeAdapter[Any](hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        schema = {}
    if parameter.default is not parameter.empty:
        try:
            schema["default"] = orjson.loads(orjson.dumps(parameter.default))
        except TypeError:
            schema["default"] = str(parameter.default)
    return schema


type Elsewhere = Callable[[Task, CurrentRun, str], Outcome]
"""Performs a task in another process, and waits for it."""


def outcome_of_sync(
    task: Task,
    run: CurrentRun,
    arguments: str,
    on_loop: OnLoop | None = None,
    elsewhere: Elsewhere | None = None,
    *,
    whole: bool = False,
) -> Outcome:
    """Perform a plain function in the calling thread, or `elsewhere`; whatever it does becomes a value.

    Its middleware is on the event loop. `whole` keeps a result of any length.
    """
    try:
        begin(run)
        if elsewhere is not None and not task.around:
            return elsewhere(task, run, arguments)
        if elsewhere is not None:
            call = partial(_value_from, elsewhere, task, run, arguments)
        else:
            args, kwargs = _read_arguments(task, arguments)
            call = partial(task.function, *args, **kwargs)
        if task.around and on_loop is not None:
            value = through_from_thread(task.around, run, call, on_loop)
        elif (value := call()) is None:
            return DONE
        elif isawaitable(value):
            value = _awaited(value, on_loop)
        if inspect.isasyncgen(value):
            raise TypeError("it returned an async generator, which nobody has run")
        return _done(task, value, None if whole else MAX_RESULT_BYTES)
    except FailedInProcess as other:
        return other.outcome
    except BaseException as raised:
        return outcome_of_error(_blamed(raised, task, arguments), task, run)


def _awaited(value: Awaitable[object], on_loop: OnLoop | None) -> object:
    """What a plain function returns may be awaitable, such as that of a coroutine function behind a decorator."""
    return asyncio.run(ending_nothing(value)) if on_loop is None else on_loop.begin(value).result()


class FailedInProcess(Exception):
    """What middleware sees of a task that failed in another process: its type and message, as text."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error if isinstance(outcome, Failed) else str(outcome))
        self.outcome = outcome


def _value_from(elsewhere: Elsewhere, task: Task, run: CurrentRun, arguments: str) -> object:
    outcome = elsewhere(task, run, arguments)
    if not isinstance(outcome, Done):
        raise FailedInProcess(outcome)
    value: object = None if outcome.result is None else orjson.loads(outcome.result)
    try:
        return task.hints.result(value)
    except ValidationError:  # it was returned all the same
        return value


async def outcome_of_async(task: Task, run: CurrentRun, arguments: str) -> Outcome:
    """Perform a coroutine function; a cancellation passes through to whoever cancelled."""
    try:
        args, kwargs = _read_arguments(task, arguments)
        begin(run)
        call = cast("Callable[[], Awaitable[object]]", partial(task.function, *args, **kwargs))
        return _done(task, await (through(task.around, run, call) if task.around else call()))
    except Exception as raised:
        return outcome_of_error(_blamed(raised, task, arguments), task, run)


def _blamed(raised: BaseException, task: Task, arguments: str) -> BaseException:
    """The error, or PermanentError if the function can't be called with its arguments: it hasn't begun."""
    if not isinstance(raised, TypeError):
        return raised
    given = orjson.loads(arguments)
    why = task.hints.misfit(given["args"], given["kwargs"])
    return raised if why is None else PermanentError(f"its arguments don't fit: {why}")


def _read_arguments(task: Task, stored: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
    given = orjson.loads(stored)
    args, kwargs = given["args"], given["kwargs"]
    if not task.hints.convert and not (task.hints.counts and ".0" in stored):
        return args, kwargs
    try:
        return task.hints.restored(args, kwargs)
    except WrongArguments as wrong:
        if not task.hints.convert:
            return args, kwargs
        raise PermanentError(f"its arguments don't fit: {wrong}") from None


def _done(task: Task, value: object, most: int | None = MAX_RESULT_BYTES) -> Done:
    if value is None:
        return DONE
    try:
        text = _written(value)
        if b"null" in text and _has_no_number(to_json(value)):
            text = orjson.dumps({NOT_KEPT: "It has a number that JSON can't hold: nan or an infinity."})
        if task.around is None:  # what was said outside is kept as far as it can be
            text = _NUL.sub(rb"\1\\ufffd", text)
        elif b"\\u0000" in text and _NUL.search(text):
            text = orjson.dumps({NOT_KEPT: "It has a NUL in a text, which the database can't hold."})
    except Exception:
        text = orjson.dumps({NOT_KEPT: f"It is a {type(value).__name__} that JSON can't hold."})
    if most is not None and len(text) > most:
        text = orjson.dumps({NOT_KEPT: f"It is {len(text):,} bytes of JSON; {most:,} are kept at most."})
    return Done(text.decode())


def _has_no_number(value: object) -> bool:
    """Whether there is a nan or an infinity in what was made for JSON, which would become null."""
    match value:
        case float():
            return not isfinite(value)
        case dict():
            return any(map(_has_no_number, cast("dict[object, object]", value).values()))
        case list() | tuple():
            return any(map(_has_no_number, cast("Sequence[object]", value)))
        case _:
            return False


def _written(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=to_json)
    except TypeError:  # such as keys that aren't text, or something that has no form in JSON
        return orjson.dumps(to_json(value))


def outcome_of_error(raised: BaseException, task: Task, run: CurrentRun) -> Outcome:
    """What becomes of an attempt whose task has raised this."""
    if isinstance(raised, Snooze):
        return Snoozed(_bounded(raised.wait))
    error = describe_error(raised)
    log.warning("task %s failed in %s, attempt %d: %s", task.name, run.run_id, run.attempt, error)
    if log.isEnabledFor(logging.DEBUG):
        with suppress(BaseException):  # an exception whose own text raises must not take us down
            log.debug("task %s failed in %s", task.name, run.run_id, exc_info=raised)
    wait = _bounded(raised.wait) if isinstance(raised, RetryAfter) else timedelta(0)
    gone = "what it calls is gone" if isinstance(raised, TargetGone) else None
    trace = None if task.around is None else _traceback_of(raised)
    return Failed(error, isinstance(raised, PermanentError), wait, gone, trace)


def _traceback_of(raised: BaseException) -> str | None:
    """As Python prints it, without the frames of this module; of one that is too long, the end."""
    try:
        trace = raised.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
            trace = trace.tb_next
        text = "".join(traceback.format_exception(type(raised), raised, trace))
    except BaseException:  # an exception whose own text raises
        return None
    return made_storable(text[-MAX_TRACEBACK:])


def _bounded(wait: timedelta) -> timedelta:
    return min(max(wait, timedelta(0)), MAX_SNOOZE)


def describe_error(raised: BaseException) -> str:
    """Type and message on one line, never a trace; callers see this. What a task says with an exception of ours is told
    as it is."""
    try:
        message = str(raised).strip().split("\n", 1)[0]
    except BaseException:
        message = "its message could not be read"
    name = type(raised).__name__
    said = isinstance(raised, PermanentError | RetryAfter)
    text = f"{name}: {message}" if message and not said else message or name
    return made_storable(text[:MAX_ERROR])
