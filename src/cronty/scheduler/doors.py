"""Everything a caller may ask, open over one database; what every surface works with."""

from collections.abc import Awaitable
from typing import Any, Final, NamedTuple, Protocol

from cronty.actions.tasks import PermanentError
from cronty.jobs.result import Err
from cronty.scheduler.channels import Channels
from cronty.scheduler.door import Scheduler
from cronty.scheduler.identity import Identity
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.overview import Overview
from cronty.scheduler.runs import Runs
from cronty.store.audit_store import AuditStore
from cronty.store.owner_store import OwnerStore

AWAY: Final = Err(
    "unavailable", "The schedule database can't be used right now.", "Nothing was changed; try again in a minute."
)
"""What every surface says when the database is away, or others hold what was needed."""


class NotAllowed(PermanentError):
    """A notification that was not even tried, and why."""

    def __init__(self, err: Err) -> None:
        super().__init__(f"{err.message} {err.hint}")
        self.err = err


class Push(Protocol):
    """Sends a notification at once, to the owner's channel or to a topic; the fields are those of the task `notify`."""

    def __call__(self, owner: str, /, **fields: Any) -> Awaitable[dict[str, object]]: ...


class Doors(NamedTuple):
    scheduler: Scheduler
    inbox: Inbox
    runs: Runs
    channels: Channels
    identity: Identity
    trail: AuditStore
    overview: Overview
    push: Push
    owners: OwnerStore
