"""Every decision of a simulated life, drawn from its seed by name."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple


class Event(NamedTuple):
    """Something that may be left out of a life: the `number`th of its name."""

    name: str
    number: int


class Cuts(NamedTuple):
    """What is left out: whole actors, kinds of faults and troubles, single events."""

    actors: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    events: frozenset[Event] = frozenset()


NO_CUTS: Final = Cuts()


class Choices:
    """A number depends on its name and on how often that name was drawn, not on what else was drawn before.

    So leaving one thing out doesn't change the luck of the others, and a failing life can be shortened.
    """

    def __init__(self, seed: int, cuts: Cuts) -> None:
        self._seed = seed
        self._drawn: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self.cuts = cuts
        self.events: list[Event] = []

    def below(self, limit: int, name: str) -> int:
        self._drawn[name] += 1
        said = f"{self._seed} {name} {self._drawn[name]}".encode()
        return int.from_bytes(hashlib.blake2b(said, digest_size=4).digest()) * limit >> 32

    def of[T](self, things: Sequence[T], name: str) -> T:
        return things[self.below(len(things), name)]

    def chance(self, probability: float, name: str) -> bool:
        return self.below(100_000, name) < probability * 100_000

    def some[T](self, things: Sequence[T], name: str) -> list[T]:
        """About half of them."""
        return [one for one in things if self.chance(0.5, f"{name} {one}")]

    def event(self, name: str) -> bool:
        """Whether something happens that a shorter life may leave out."""
        self._seen[name] += 1
        event = Event(name, self._seen[name])
        if event in self.cuts.events:
            return False
        self.events.append(event)
        return True
