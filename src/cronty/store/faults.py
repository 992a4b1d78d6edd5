"""Classifies database errors: unavailable, busy, wrong URL or login, or a value that can't be stored."""

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
    "58",  # its operating system failed
)
_STILL_THERE: Final = ("53", "57014")
"""The server answers, so reconnecting wouldn't help; a server that is full has no connection to give."""

_NO_MEMORY: Final = "53200"
_LOCK_TABLE: Final = "max_locks_per_transaction"
"""PostgreSQL names this setting, in any language, if its memory for locks is used up."""

_CONFLICT: Final = ("40001", "40P01")
_LOCKED: Final = "55P03"
_MISNAMED: Final = ("28", "3D000")
_UNPREPARED: Final = ("26000", "42P05")
_PROTOCOL: Final = "08P01"
_DATA: Final = "22"
_NOT_DATA: Final = "22023"
"""An unknown setting or role: class 22 too, but not the fault of a value."""


class StoreUnavailable(Exception):
    """The database can't be used now. Try again."""


class StoreBusy(StoreUnavailable):
    """Other transactions hold the locks that this one needs. PostgreSQL has undone it; try again."""


class StoreMisnamed(StoreUnavailable):
    """The database's URL or its user's rights are wrong; trying again won't help."""


class UniqueConflict(Exception):
    """A unique constraint was violated: a slot already has its run row, or an idempotency key is taken."""


class NoPartition(Exception):
    """There is no partition for the week of a run's slot: the slot is very old, or the clock was far off."""


def is_away(error: BaseException) -> bool:
    """Whether the database is unreachable, restarting, full or read-only."""
    if isinstance(error, asyncpg.PostgresError):
        return _state(error).startswith(_AWAY) and not is_out_of_locks(error)
    if isinstance(error, ValueError):  # some are InterfaceErrors too, but trying again can't help
        return False
    return isinstance(error, OSError | asyncpg.InterfaceError | asyncpg.InternalClientError)


def is_out_of_locks(error: BaseException) -> bool:
    """Whether PostgreSQL has no room for more locks: each statement about runs takes some for every week of history."""
    return (
        isinstance(error, asyncpg.PostgresError) and _state(error) == _NO_MEMORY and _LOCK_TABLE in (error.hint or "")
    )


def must_reconnect(error: BaseException) -> bool:
    """Whether the server is gone or is the wrong one, so that all connections to it should be dropped."""
    return is_away(error) and not _state(error).startswith(_STILL_THERE)


def is_conflict(error: BaseException) -> bool:
    """Whether a transaction failed because of a concurrent one, and would probably succeed if repeated."""
    if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
        return True  # the schema was migrated meanwhile; asyncpg prepares the statement again
    return _state(error).startswith(_CONFLICT)


def is_unwritable(error: BaseException) -> bool:
    """Whether a value can never be stored."""
    state = _state(error)
    return (state.startswith(_DATA) and state != _NOT_DATA) or isinstance(error, ValueError)


def is_forbidden(error: BaseException) -> bool:
    """Whether the login lacks a right that the statement needs."""
    return isinstance(error, asyncpg.InsufficientPrivilegeError)


def is_misnamed(error: BaseException) -> bool:
    """Whether connecting failed because the URL is wrong."""
    return _state(error).startswith(_MISNAMED) or isinstance(error, ValueError) or refuses_parameters(error)


def refuses_parameters(error: BaseException) -> bool:
    """Whether this is what PgBouncer says if it doesn't know a parameter that we connect with."""
    return _state(error) == _PROTOCOL and "startup parameter" in str(error)


def is_unprepared(error: BaseException) -> bool:
    """Whether a prepared statement is gone, or somebody else's has its name: a pooler mixes up sessions."""
    return _state(error) in _UNPREPARED


def store_fault(error: BaseException) -> StoreUnavailable | None:
    """The error as a fault of the store, with a message; None if the database is neither unavailable nor busy."""
    text = _text(error)
    if _state(error) == READ_ONLY:
        return StoreUnavailable(f"PostgreSQL can't be written to: {text}")
    if must_reconnect(error):
        return StoreUnavailable(
            f"PostgreSQL can't be reached: {text}. Is it running, and is CRONTY_DATABASE_URL right?"
        )
    if is_away(error):
        return StoreUnavailable(f"PostgreSQL can't do its work: {text}")
    if is_unprepared(error):
        return StoreMisnamed(
            f"The pooler in CRONTY_DATABASE_URL loses prepared statements ({text}): PgBouncer must be 1.21 or newer, "
            "with max_prepared_statements above 0."
        )
    if is_out_of_locks(error):
        return StoreBusy(f"PostgreSQL has no room for more locks: {text}. Raise {_LOCK_TABLE} and restart it.")
    if is_conflict(error) or _state(error) == _LOCKED:
        return StoreBusy(f"PostgreSQL is busy: {text}")
    return None


@contextmanager
def explained() -> Generator[None]:
    """Raise database errors as store faults."""
    try:
        yield
    except Exception as error:
        if (fault := store_fault(error)) is None:
            raise
        raise fault from error


def _text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, asyncpg.InternalClientError):  # the last message was cut off
        return "the connection broke off"
    return str(error) or "the connection broke off"


def _state(error: BaseException) -> str:
    return (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""
