"""Errors that a person can put right: each is told in one line, without a traceback."""

from typing import Final

from pydantic import ValidationError

from cronty.actions.agents import BadAgents
from cronty.actions.shell import BadCommands
from cronty.cli.output import MISUSED, REFUSED
from cronty.contract.result import CrontyError
from cronty.scheduler.identity import WeakSecret
from cronty.settings import BadSetting, in_words
from cronty.store.database import StoreUnavailable
from cronty.store.faults import is_forbidden
from cronty.store.local import NoDatabase
from cronty.store.private_file import BadPrivateFile
from cronty.store.schema import SchemaProblem
from cronty.store.sealing import BadKey
from cronty.store.server import WrongServer

_EXPECTED: Final = (
    StoreUnavailable,
    SchemaProblem,
    WrongServer,
    NoDatabase,
    BadKey,
    BadAgents,
    BadCommands,
    BadSetting,
    BadPrivateFile,
    WeakSecret,
    CrontyError,
)


def line_of(error: Exception) -> tuple[str, int] | None:
    """What to tell about an error, and the exit code; None if it wasn't expected."""
    if is_forbidden(error):
        return (
            f"This login may not do that ({error}). Use the one that owns the tables: `cronty_owner` in "
            "docs/how-to/production.md.",
            REFUSED,
        )
    line = _line_of(error)
    return None if line is None else (line, MISUSED)


def _line_of(error: Exception) -> str | None:
    if isinstance(error, ValidationError):
        return in_words(error)
    return str(error) if isinstance(error, _EXPECTED) else None
