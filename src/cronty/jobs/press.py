"""A button under a reminder: what it is called, what it does, and what its link says."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from cronty.jobs.run import message_id

Act = Literal["done", "snooze", "tomorrow"]

LABELS: Final[Mapping[Act, str]] = {"done": "Done", "snooze": "In 10 minutes", "tomorrow": "Tomorrow 9:00"}
LASTS: Final = timedelta(days=7)
"""How long a link is good after its reminder."""

PATH: Final = "/press/"


@dataclass(frozen=True, slots=True)
class Press:
    """What a link says: a button under the reminder of one run."""

    act: Act
    owner_id: int
    job_id: int
    slot: datetime
    expires_at: datetime

    @property
    def run(self) -> str:
        """The run by its message id."""
        return message_id(self.job_id, self.slot)

    @property
    def said(self) -> str:
        """All of it as text: what is signed."""
        return f"{self.act}.{self.owner_id}.{self.run}.{int(self.expires_at.timestamp())}"
