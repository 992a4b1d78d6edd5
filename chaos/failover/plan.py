"""What is asked of a scenario."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """`events` are done one after the other; times are seconds."""

    events: str = "switchover:3,kill:3,freeze,zombie"
    sync: bool = True
    attrs: str = "read-write"
    jobs: int = 3000
    workers: int = 3
    lease: float = 30.0
    ttl: int = 30
    loop_wait: int = 10
    lag: float = 2.0
    frozen: float = 60.0
    rest: float = 20.0
    patience: float = 90.0
    port: int = 18400
    user: str = "postgres"
    pg_bin: str = ""
    folder: str = ""

    def kinds(self) -> list[str]:
        """Every event by its kind: `kill:2,freeze` is kill, kill, freeze."""
        parts = [one.partition(":") for one in self.events.split(",")]
        return [kind for kind, _, times in parts for _ in range(int(times or 1))]

    def programs(self) -> Path:
        """Where PostgreSQL's programs are: as asked, or the newest that Debian has installed."""
        if self.pg_bin:
            return Path(self.pg_bin)
        installed = Path("/usr/lib/postgresql").glob("*/bin")
        return max(installed, key=lambda place: int(place.parent.name), default=Path("/usr/bin"))
