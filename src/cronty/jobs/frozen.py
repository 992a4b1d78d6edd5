"""A frozen installation: nothing fires and nothing is sent, for any owner, until its operator says so."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Frozen:
    since: datetime
    because: str

    @property
    def sentence(self) -> str:
        why = f" ({self.because})" if self.because else ""
        return f"Frozen since {self.since:%Y-%m-%d %H:%M} UTC{why}: nothing fires until `cronty thaw`."
