"""What holds for all runs of a task across all workers: how many at once, how urgent, in which queue."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast

OWN: Final = "task:"
"""How the limit of a single task is called, before the task's name. No other limit may have a colon in its name."""

type Priority = Literal["urgent", "ordinary"]

DEFAULT_QUEUE: Final = "default"
"""Where tasks are that name no queue."""

MOST: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class TaskLimit:
    """How many runs at once, and how many starts within a minute; None for no limit. One that isn't `declared` is only
    named: its figures are said elsewhere."""

    name: str
    at_once: int | None = None
    per_minute: int | None = None
    declared: bool = True

    def stored(self) -> dict[str, int | None] | None:
        return {"at_once": self.at_once, "per_minute": self.per_minute} if self.declared else None


def named_limit(name: str, at_once: int | None, per_minute: int | None) -> TaskLimit:
    """A limit that tasks share; raises ValueError if invalid."""
    _check_name("A limit's name", name)
    if at_once is None and per_minute is None:
        raise ValueError(f"The limit {name!r} limits nothing: give it at_once=…, per_minute=… or both.")
    return TaskLimit(name, _checked("at_once", at_once), _checked("per_minute", per_minute))


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The limits of a task: its own one, and the one that it shares; whether its runs go before others; and which
    workers perform them: those of its queue."""

    limits: tuple[TaskLimit, ...] = ()
    urgent: bool = False
    queue: str = DEFAULT_QUEUE

    def stored(self) -> dict[str, Any] | None:
        """As JSON; None if nothing is set."""
        said: dict[str, Any] = {}
        if self.limits:
            said["limits"] = {limit.name: limit.stored() for limit in self.limits}
        if self.urgent:
            said["priority"] = "urgent"
        if self.queue != DEFAULT_QUEUE:
            said["queue"] = self.queue
        return said or None


NOTHING_SET: Final = TaskSettings()


def settings_of(
    task: str,
    concurrency: int | None = None,
    limit: str | None = None,
    priority: Priority | None = None,
    queue: str | None = None,
) -> TaskSettings:
    """The settings of a task as its author gives them; raises ValueError if invalid."""
    limits: list[TaskLimit] = []
    if concurrency is not None:
        limits.append(TaskLimit(OWN + task, _checked("concurrency", concurrency)))
    if limit is not None:
        _check_name("A limit's name", limit)
        limits.append(TaskLimit(limit, declared=False))
    if priority not in (None, "urgent", "ordinary"):
        raise ValueError(f"priority is 'urgent' or 'ordinary', not {priority!r}.")
    [queue] = read_queues([DEFAULT_QUEUE if queue is None else queue])
    return TaskSettings(tuple(limits), priority == "urgent", queue)


def read_queues(names: Iterable[str]) -> tuple[str, ...]:
    """Names of queues, each once; raises ValueError if a name is invalid."""
    for name in names:
        _check_name("A queue's name", name)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class PublishedSettings:
    """What the workers have said of a task. What a newer version says and this one doesn't know is ignored."""

    limits: tuple[str, ...] = ()
    urgent: bool = False
    queue: str = DEFAULT_QUEUE

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> Self:
        said = stored or {}
        limits: object = said.get("limits")
        names = tuple(sorted(cast("Mapping[str, object]", limits))) if isinstance(limits, Mapping) else ()
        return cls(names, said.get("priority") == "urgent", str(said.get("queue", DEFAULT_QUEUE)))


def _checked(what: str, figure: int | None) -> int | None:
    if figure is not None and not 1 <= figure <= MOST:
        raise ValueError(f"{what} must be from 1 to {MOST:,}, not {figure}.")
    return figure


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{what} has 1 to 100 letters, digits, dots, dashes and underscores, unlike {name!r}.")
