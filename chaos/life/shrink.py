"""Leave out of a failing life whatever it doesn't need to fail: whole actors, kinds of trouble, single events."""

import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, Protocol

from chaos.life.choices import NO_CUTS, Cuts, Event
from chaos.life.stage import FAULTS, PAUSE, TROUBLES, Stage

MAX_ENGINES: Final = 5
MARGIN: Final = 1.5
"""A life with less in it may take more steps to the same end: others get their turn."""


class Live(Protocol):
    """Live once more, with something left out."""

    def __call__(
        self, seed: int, steps: int, cuts: Cuts = ..., *, only: Sequence[str] = ..., traced: bool = ...
    ) -> Awaitable[Stage]: ...


class Shrinking:
    """`best` is the shortest life so far that breaks the same promise."""

    def __init__(self, live: Live, seed: int, kind: str, steps: int, budget: float) -> None:
        self._live, self._seed, self._kind, self._steps = live, seed, kind, steps
        self._until = time.monotonic() + budget
        self.cuts, self.tries = NO_CUTS, 0
        self.best: Stage | None = None

    @property
    def in_time(self) -> bool:
        return time.monotonic() < self._until

    async def attempt(self, cuts: Cuts) -> bool:
        """Whether it still breaks with this left out; if so it stays left out."""
        self.tries += 1
        stage = await self._live(self._seed, int(self._steps * MARGIN), cuts, only=(self._kind,))
        if stage.broken is None:
            return False
        self.cuts, self.best, self._steps = cuts, stage, stage.steps
        return True

    async def leave_out_kinds(self) -> None:
        """All at once, if that will do; else one by one."""
        kinds = (PAUSE, *TROUBLES, *FAULTS)
        if not await self.attempt(self.cuts._replace(kinds=frozenset(kinds))):
            for kind in kinds:
                if self.in_time:
                    await self.attempt(self.cuts._replace(kinds=self.cuts.kinds | {kind}))

    async def leave_out_actors(self) -> None:
        for name in ("door ann", "door bob", *(f"e{number}" for number in range(MAX_ENGINES, 0, -1))):
            if self.in_time:
                await self.attempt(self.cuts._replace(actors=self.cuts.actors | {name}))

    async def leave_out_events(self) -> None:
        """All of a name first, then halves, quarters and so on, down to single ones."""
        for name in sorted({event.name for event in self._left()}):
            if self.in_time:
                await self._without(event for event in self._left() if event.name == name)
        size = len(self._left()) // 2
        while size and self.in_time:
            at = len(self._left())
            while at > 0 and self.in_time:
                if not await self._without(self._left()[max(0, at - size) : at]):
                    at -= size
                at = min(at, len(self._left()))
            size //= 2

    def _left(self) -> list[Event]:
        return self.best.choices.events if self.best is not None else []

    async def _without(self, events: Iterable[Event]) -> bool:
        return await self.attempt(self.cuts._replace(events=self.cuts.events | set(events)))


async def shrink(live: Live, seed: int, kind: str, steps: int, budget: float) -> Stage | None:
    """Print the shortest life that was found within `budget` seconds, and what is left in it."""
    shrinking = Shrinking(live, seed, kind, steps, budget)
    if not await shrinking.attempt(NO_CUTS):
        print(f"seed {seed} doesn't break {kind} a second time")
        return None
    await shrinking.leave_out_kinds()
    await shrinking.leave_out_actors()
    await shrinking.leave_out_events()
    assert shrinking.best is not None
    shown = await live(seed, shrinking.best.steps, shrinking.cuts, only=(kind,), traced=True)
    print(*eventful(shown.trace or ()), sep="\n")
    print(
        f"{shown.broken}: {shown.steps} steps, {shown.statements} statements, {len(shown.choices.events)} events left"
    )
    print(
        f"after {shrinking.tries} tries; without {', '.join(sorted({*shrinking.cuts.actors, *shrinking.cuts.kinds}))}"
    )
    return shown


def eventful(trace: Sequence[str]) -> Iterator[str]:
    """The steps in which something changed or went wrong; duties that found nothing to do are left out.

    So are a begin, and a commit that followed at once.
    """
    for _, step in groupby(trace, key=lambda line: line[:5]):
        first, *others = step
        lines = [first, *(line for line in others if not line.endswith(" commit") and " begin; " not in line)]
        if any(" run " in line or "!!" in line or "==" in line or "door" in line or "raised" in line for line in lines):
            yield from lines
