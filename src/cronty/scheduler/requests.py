"""What callers hand to the door, and what they get back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.timing import Slot


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What someone asks for. `policy` holds only what differs from the default; no slot comes before `starts_at`.

    `key_id` is the key that its caller came with: when that ends, the job pauses.
    `origin` is what the surface knows of whoever asks: {"surface": "mcp", "client": {"name": …, "version": …}}; its
    `asked_in` is the run in which it is asked, by its message id; its `agent` the one that a token was made for.
    """

    name: str
    action: Action
    trigger_type: str
    trigger_config: Mapping[str, object]
    timezone: str | None = None
    policy: Mapping[str, object] = field(default_factory=dict[str, object])
    max_runs: int | None = None
    tags: Sequence[str] = ()
    starts_at: datetime | str | None = None
    ends_at: datetime | str | None = None
    idempotency_key: str | None = None
    origin: Mapping[str, object] | None = None
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class JobChanges:
    """What to change; None leaves it as it is. `trigger_type` and `trigger_config` come together."""

    name: str | None = None
    action: Action | None = None
    trigger_type: str | None = None
    trigger_config: Mapping[str, object] | None = None
    timezone: str | None = None
    policy: Mapping[str, object] | None = None
    max_runs: int | None = None
    tags: Sequence[str] | None = None
    ends_at: datetime | str | None = None


def changed_action(
    old: Action, task: str | None, args: Sequence[object] | None, kwargs: Mapping[str, object] | None
) -> Action | None:
    """An action of which only some parts are given; None if none is."""
    if task is None and args is None and kwargs is None:
        return None
    return Action(task or old.task, old.args if args is None else tuple(args), old.kwargs if kwargs is None else kwargs)


@dataclass(frozen=True, slots=True)
class JobPage:
    """`total` is how many match, or the number at which counting stops (`MOST_COUNTED`). `cursor` continues after the
    last job of this page; None if there are no more."""

    jobs: list[Job]
    total: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """A rule before anybody has made a job of it: in words, and its next slots."""

    words: str
    zone: str
    slots: list[Slot]
    note: str | None
