"""What an error of the database means: it is away, it is busy, its URL is wrong, or a value can't be written."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import asyncpg

READ_ONLY: Final = "25006"

_AWAY: Final = (
    "08",  # the connection was lost
    READ_ONLY,  # a primary that was demoted
    "25P03",  # idle in a transaction, or
    "25P04",  # in one transaction, for too long: this process was frozen
    "53",  # out of disk, memory or connections
    "57014",  # the statement was cancelled, by an operator or by its time limit
    "57P",  # shutting down, crashed, starting
    "58",  # the system under it failed
)
_STAYS: Final = ("53", "57014")
"""The server is there and answers: another connection would fare no better, and a full server has none to give."""

_CONFLICT: Final = ("40001", "40P01")
_LOCKED: Final = "55P03"
_MISTAKEN: Final = ("28", "3D000")
_DATA: Final = "22"
_NOT_DATA: Final = "22023"
"""A setting or a role that isn't there: class 22 too, but no fault of the value."""


class StoreUnavailable(Exception):
    """The database can't be used now; nothing is known to be lost, and trying again is right."""


class StoreBusy(StoreUnavailable):
    """Others hold what this needed; PostgreSQL has undone all of it, and trying again is right."""


class StoreMisnamed(StoreUnavailable):
    """The database's URL, or what its login may do, can't be right; trying again is no use."""


class SlotTaken(Exception):
    """A slot that was to get a run row has one already."""


class NoPartition(Exception):
    """A run row has a slot in a week that has no partition: one of long ago, or of a clock that was far off."""


def is_away(error: BaseException) -> bool:
    """Whether the database is away, restarting, full or read-only."""
    if isinstance(error, asyncpg.PostgresError):
        return _state(error).startswith(_AWAY)
    if isinstance(error, ValueError):  # asyncpg calls some of them interface errors, but trying again can't help
        return False
    return isinstance(error, OSError | asyncpg.InterfaceError | asyncpg.InternalClientError)


def is_elsewhere(error: BaseException) -> bool:
    """Whether the server behind this connection is the wrong one, or none: all connections to it should be dropped."""
    return is_away(error) and not _state(error).startswith(_STAYS)


def is_conflict(error: BaseException) -> bool:
    """Whether a transaction lost a race and would probably succeed if it were made again as it is."""
    if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
        return True  # the schema was migrated meanwhile; asyncpg has forgotten the old statement by now
    return _state(error).startswith(_CONFLICT)


def is_unwritable(error: BaseException) -> bool:
    """Whether a value itself is what can't be written, now or ever."""
    state = _state(error)
    return (state.startswith(_DATA) and state != _NOT_DATA) or isinstance(error, ValueError)


def is_mistaken(error: BaseException) -> bool:
    """Whether connecting failed because of what the URL says."""
    return _state(error).startswith(_MISTAKEN) or isinstance(error, ValueError)


def told(error: BaseException) -> StoreUnavailable | None:
    """The fault in a line, with what to look at; None if it is neither the database's absence nor a race."""
    said = _said(error)
    if _state(error) == READ_ONLY:
        return StoreUnavailable(f"PostgreSQL can't be written to: {said}")
    if is_elsewhere(error):
        return StoreUnavailable(
            f"PostgreSQL can't be reached: {said}. Is it running, and is CRONTY_DATABASE_URL right?"
        )
    if is_away(error):
        return StoreUnavailable(f"PostgreSQL can't do its work: {said}")
    if is_conflict(error) or _state(error) == _LOCKED:
        return StoreBusy(f"PostgreSQL is busy: {said}")
    return None


@contextmanager
def explained() -> Generator[None]:
    """Faults that mean something are raised as what they mean."""
    try:
        yield
    except Exception as error:
        if (said := told(error)) is None:
            raise
        raise said from error


def _said(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, asyncpg.InternalClientError):  # asyncpg's own state; it means that the last word was cut off
        return "the connection broke off"
    return str(error) or type(error).__name__


def _state(error: BaseException) -> str:
    return (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""
