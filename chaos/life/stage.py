"""What everyone in a simulated life shares: time, luck, the weather, and the record of what happened."""

import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from chaos.life.choices import NO_CUTS, Choices, Cuts

START: Final = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
BOOTED: Final = 1e6
"""What the monotonic clock shows at the start."""

FAULTS: Final = ("cut", "lost", "read_only", "disk_full", "timeout", "deadlock")
TROUBLES: Final = (
    "weather", "kill", "freeze", "stall", "suspend", "restore", "reader", "newer_engine", "newer_field",
    "hold", "slow",
)  # fmt: skip


MEETINGS: Final = (
    ("freeze", "hold"), ("freeze", "stall"), ("freeze", "kill"), ("freeze", "weather"), ("kill", "weather"),
    ("kill", "reader"), ("suspend", "freeze"), ("restore", "kill"), ("restore", "freeze"), ("restore", "weather"),
    ("newer_engine", "newer_field"), ("newer_engine", "suspend"), ("slow", "kill"), ("slow", "freeze"),
    ("slow", "restore"), ("slow", "weather"), ("stall", "suspend"),
)  # fmt: skip
"""Kinds of trouble that do more harm together than alone."""

LEASE: Final = 10.0
"""Seconds, before they are stretched. A short one makes room for more leases in as many steps."""

PAUSE: Final = "pause"
"""Standing still between two statements, so that others go first. It may be left out like a fault."""


class Violation(Exception):
    """A promise that didn't hold; `kind` is its name."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass(slots=True)
class Season:
    """What goes wrong for a few hundred steps. Not everything at once: one fault that stops all hides the others."""

    faults: list[str] = field(default_factory=list[str])
    troubles: list[str] = field(default_factory=list[str])
    rate: float = 0.0
    pace: float = 1.0
    onward: float = 0.7
    """How likely an actor goes through a statement without letting others go first."""
    keeps_luck: int = 1
    """Steps for which who goes before whom stays the same: an actor without luck is overtaken again and again."""


@dataclass(slots=True)
class Settings:
    """What a seed decides once. `scale` stretches leases, rests and rules, so that one life covers months."""

    scale: int
    concurrency: int
    batch: int
    runs_per_hour: int
    engines: int
    jobs: tuple[int, int]
    """The fewest and the most that an owner has at a time. With few of them more time passes in as many steps."""
    rollback: bool


class Stage:
    """Two clocks: `mono` stops while the machine is suspended, `now` doesn't."""

    def __init__(self, seed: int, cuts: Cuts = NO_CUTS, *, traced: bool = False, only: Collection[str] = ()) -> None:
        self.seed = seed
        self.choices = Choices(seed, cuts)
        self.settings = self._draw_settings()
        self.backfills = True
        self.season = Season()
        self.calm = True
        self.mono, self.asleep = BOOTED, 0.0
        self.steps = self.statements = self.commits = 0
        self.epoch = 1
        self.injected: Counter[str] = Counter()
        self.weather_until, self.weather = 0, ""
        self.first: dict[str, tuple[int, str]] = {}
        self.broken: Violation | None = None
        self.trace: list[str] | None = [] if traced else None
        self.last_said = "nothing"
        self._only = frozenset(only)
        self._digest = hashlib.blake2b(digest_size=8)

    @property
    def scale(self) -> int:
        return self.settings.scale

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.mono - BOOTED + self.asleep)

    def days(self) -> float:
        return (self.now() - START) / timedelta(days=1)

    # -- luck ---------------------------------------------------------------------------------------------------

    def _draw_settings(self) -> Settings:
        draw = self.choices.of
        scale = draw((1, 1, 10, 100, 10_000), "scale")
        return Settings(
            scale=scale,
            concurrency=draw((1, 2, 5, 50), "concurrency"),
            batch=draw((500, 500, 3), "batch"),
            runs_per_hour=draw((0, 3) if scale == 100 else (0, 40), "runs per hour"),
            engines=draw((2, 2, 3), "engines"),
            jobs=draw(((6, 12), (2, 3)), "jobs"),
            rollback=self.choices.chance(0.7, "rollback"),
        )

    def next_season(self) -> None:
        """Draw anew what goes wrong."""
        luck, without = self.choices, self.choices.cuts.kinds
        faults = [one for one in luck.some(FAULTS, "fault kinds") if one not in without]
        troubles = [one for one in luck.some(TROUBLES, "trouble kinds") if one not in without]
        meetings = [each for each in MEETINGS if not without.intersection(each)]
        hectic = bool(meetings) and luck.chance(0.5, "hectic")
        if hectic:  # few kinds of trouble, often, so that they meet
            troubles = list(luck.of(meetings, "which meeting"))
        self.season = Season(
            faults=faults,
            troubles=troubles,
            pace=0.2 if hectic else 0.5,
            rate=self.choices.of((0.0, 0.01, 0.03, 0.1), "fault rate"),
            onward=self.choices.of((0.95, 0.8, 0.5), "onward"),
            keeps_luck=self.choices.of((1, 1, 8, 40), "keeps luck"),
        )
        self.calm = False

    def fault_for(self, actor: str) -> str | None:
        """What goes wrong with an actor's next statement."""
        if self.calm or not self.season.faults:
            return None
        if self.steps < self.weather_until:
            return self.weather
        if not self.choices.chance(self.season.rate, f"fault {actor}") or not self.choices.event(f"fault {actor}"):
            return None
        return self.choices.of(self.season.faults, f"which fault {actor}")

    # -- the record ---------------------------------------------------------------------------------------------

    def say(self, line: str) -> None:
        self._digest.update(line.encode())
        self.last_said = line.strip()
        if self.trace is not None:
            self.trace.append(f"{self.steps:5} {self.now():%d %H:%M:%S} {line}")

    def found(self, only: Collection[str] = ()) -> list[tuple[int, str, str]]:
        """Which promises didn't hold: the step, the kind, and what is to be said about it."""
        return [(step, kind, said) for kind, (step, said) in self.first.items() if not only or kind in only]

    def report(self, broken: Violation) -> None:
        """The first of its kind is kept; the first that is looked for ends the life."""
        if broken.kind not in self.first:
            self.first[broken.kind] = (self.steps, str(broken))
            self.say(f"!! {broken}")
        if self.broken is None and (not self._only or broken.kind in self._only):
            self.broken = broken
