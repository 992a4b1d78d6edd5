"""How a job behaves around its runs: retries, time limit, overlap, catching up, spread."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from functools import lru_cache
from typing import Final, Literal, cast, get_args
from zlib import crc32

import orjson

from cronty.jobs.action import Action
from cronty.jobs.dashed_name import RULE, is_dashed_name
from cronty.timing import CatchUp, CatchUpMode
from cronty.timing.errors import shown
from cronty.timing.plan import USUAL_WINDOW

Overlap = Literal["skip", "queue", "allow", "cancel_previous"]
TellWhen = Literal["always", "not_quiet", "changed"]

OVERLAPS: Final[tuple[str, ...]] = get_args(Overlap)
TELL_WHENS: Final[tuple[str, ...]] = get_args(TellWhen)
CATCH_UPS: Final[tuple[str, ...]] = get_args(CatchUpMode.__value__)


class BadPolicy(ValueError):
    """An invalid policy; the text names the field, the value and what is accepted."""


@dataclass(frozen=True, slots=True)
class Policy:
    """All durations are seconds, so that a policy looks the same in JSON, SQL and Python."""

    attempts: int = 1
    backoff: float = 5.0
    backoff_factor: float = 2.0
    backoff_max: float = 3600.0
    jitter: float = 0.2
    timeout: float = 3600.0
    overlap: Overlap = "skip"
    catch_up: CatchUpMode = "latest"
    catch_up_window: float = 86400.0
    catch_up_limit: int = 100
    spread: float = 0.0
    pause_after: int = 10
    alert: str = ""
    alert_after: int = 5
    tell: str = ""
    tell_when: TellWhen = "always"
    expires_after: float = 30 * 86400.0
    unread: str = "{}"
    """JSON of fields that a newer version wrote and this one can't read: ignored, and kept when the job is saved."""

    @property
    def serial(self) -> bool:
        """Whether at most one run of the job may be in flight."""
        return self.overlap != "allow"

    def catching_up(self) -> CatchUp:
        # A one-off is never too late, unless its policy says so.
        usual = self.catch_up_window == USUAL_WINDOW.total_seconds()
        window = None if usual else timedelta(seconds=self.catch_up_window)
        return CatchUp(self.catch_up, window, self.catch_up_limit)

    def dump(self) -> str:
        """Only what differs from the defaults of a plain task, as JSON."""
        plain = asdict(_PLAIN)
        changed = {key: value for key, value in asdict(self).items() if key != "unread" and value != plain[key]}
        return orjson.dumps({**orjson.loads(self.unread), **changed}).decode()


_PLAIN: Final = Policy()
_FIELDS: Final = frozenset(one.name for one in fields(Policy)) - {"unread"}
_LONGEST: Final = 10 * 366 * 86400
_RATIOS: Final = {"jitter": (0, 1), "backoff_factor": (1, 1000)}
_COUNTS: Final = frozenset({"attempts", "catch_up_limit", "pause_after", "alert_after"})
SHORTEST_EXPIRY: Final = 3600.0
"""Engines look for unread prompts once an hour."""

SHORTEST_PAUSE: Final = 1.0
"""Seconds between two attempts at a run, so that a retry policy can't become a flood of calls."""

_LEAST: Final = {"expires_after": SHORTEST_EXPIRY, "backoff": SHORTEST_PAUSE, "backoff_max": SHORTEST_PAUSE}
_POSITIVE: Final = frozenset({"timeout", "catch_up_window"})


def default_policy(action: Action) -> dict[str, object]:
    """Built-in actions are retried, because networks fail. Other tasks run once unless their policy says otherwise.

    Notifications are retried for 45 minutes: a laptop that has just woken up has no network yet.
    """
    match action.kind:
        case "task":
            return {}
        case "notify":
            return {"attempts": 10}
        case _:
            return {"attempts": 3}


def make_policy(given: Mapping[str, object]) -> Policy:
    """A policy from named values; raises `BadPolicy` for one that is invalid."""
    unknown = sorted(set(given) - _FIELDS)
    if unknown:
        raise BadPolicy(f"Unknown policy field: {shown(unknown[0])}. Known are: {', '.join(sorted(_FIELDS))}.")
    for name, value in given.items():
        _check(name, value)
    return Policy(**dict(given))  # pyright: ignore[reportArgumentType]


def _check(name: str, value: object) -> None:
    if name == "overlap":
        if value not in OVERLAPS:
            raise BadPolicy(f"Unknown overlap policy: {shown(value)}. Use one of: {', '.join(OVERLAPS)}.")
    elif name == "catch_up":
        if value not in CATCH_UPS:
            raise BadPolicy(f"Unknown catch_up policy: {shown(value)}. Use one of: {', '.join(CATCH_UPS)}.")
    elif name == "tell_when":
        if value not in TELL_WHENS:
            raise BadPolicy(f"Unknown tell_when policy: {shown(value)}. Use one of: {', '.join(TELL_WHENS)}.")
    elif name in ("alert", "tell"):
        if not isinstance(value, str) or not (value == "" or is_dashed_name(value)):
            raise BadPolicy(
                f"Policy field {name!r} must be a topic or a channel such as ann-phone ({RULE}), not {shown(value)}."
            )
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise BadPolicy(f"Policy field {name!r} must be a number, not {shown(value)}.")
    elif name in _COUNTS:
        low = 0 if name == "pause_after" else 1
        if not isinstance(value, int) or not low <= value <= 1000:
            raise BadPolicy(f"Policy field {name!r} must be a whole number from {low} to 1000, not {shown(value)}.")
    elif name in _RATIOS:
        low, high = _RATIOS[name]
        if not low <= value <= high:
            raise BadPolicy(f"Policy field {name!r} must be a number from {low} to {high}, not {shown(value)}.")
    elif name in _LEAST and not _LEAST[name] <= value <= _LONGEST:
        raise BadPolicy(f"Policy field {name!r} must be seconds, at least {_LEAST[name]:g}, not {shown(value)}.")
    elif not 0 <= value <= _LONGEST or (value == 0 and name in _POSITIVE):
        raise BadPolicy(f"Policy field {name!r} must be a positive number of seconds, not {shown(value)}.")


@lru_cache(maxsize=4096)
def load_policy(stored: str) -> Policy:
    """A stored policy. It is cached, because many jobs have the same one.

    It never fails: a field or a value that only a newer version knows is kept in `unread`, and the default is used.
    """
    given = _object(stored)
    read: dict[str, object] = {}
    for name, value in given.items():
        with suppress(BadPolicy):
            make_policy({name: value})
            read[name] = value
    unread = {name: value for name, value in given.items() if name not in read}
    return Policy(**read, unread=orjson.dumps(unread).decode())  # pyright: ignore[reportArgumentType]


def changed_policy(policy: Policy, given: Mapping[str, object]) -> Policy:
    """The policy with some fields replaced; raises `BadPolicy`."""
    make_policy(given)
    unread = {name: value for name, value in _object(policy.unread).items() if name not in given}
    return replace(policy, **dict(given), unread=orjson.dumps(unread).decode())  # pyright: ignore[reportArgumentType]


def _object(text: str) -> dict[str, object]:
    found = orjson.loads(text)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def spread_delay(owner: str, name: str, spread: float) -> int:
    """How many seconds after its slots a job starts; always the same for the same owner and name."""
    return crc32(f"{owner}\0{name}".encode()) % int(spread) if spread >= 1 else 0
