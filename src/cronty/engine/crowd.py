"""Fairness: while a few owners fill whole batches, everybody else gets turns of their own.

What is due is taken in the order of its time, so that 50,000 slots of one owner would go before the one slot of
another that comes a moment later. Serving owners in turn would need an index by owner, paid for by every fire. So
batches are counted instead, and only while they come back full: whoever fills a good part of them is left out of an
extra look every quarter of a second, which finds what the others have due. A look that takes long comes more rarely.
"""

from collections import Counter
from collections.abc import Iterable
from time import monotonic
from typing import Final

TURN_EVERY: Final = 0.25
FORGOTTEN_AFTER: Final = 1.0
A_GOOD_PART: Final = 0.25
AT_MOST_A_TENTH: Final = 9
"""After a look, how many times as long as it took nobody looks again."""


class Crowd:
    """Who fills the batches of one duty in this process."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._since = 0.0
        self._seen_at = -FORGOTTEN_AFTER
        self._next_turn = 0.0
        self._greedy: frozenset[int] = frozenset()

    def saw(self, owner_ids: Iterable[int]) -> None:
        """A batch came back full."""
        now = monotonic()
        if now - self._since > FORGOTTEN_AFTER:
            self._counts.clear()
            self._since = now
        self._seen_at = now
        self._counts.update(owner_ids)
        enough = self._counts.total() * A_GOOD_PART
        self._greedy = frozenset(owner for owner, rows in self._counts.items() if rows >= enough)

    def patience(self, most: float) -> float:
        """How long to wait for room before it may be somebody else's turn."""
        return min(most, TURN_EVERY) if self._present(monotonic()) else most

    def turn(self) -> list[int]:
        """Whom to leave out of this look; nobody, unless it is time to."""
        now = monotonic()
        if not self._present(now) or now < self._next_turn:
            return []
        self._next_turn = now + TURN_EVERY
        return sorted(self._greedy)

    def looked(self, since: float) -> None:
        """A look without the greedy is over; it began at `since`."""
        self._next_turn = monotonic() + max(TURN_EVERY, AT_MOST_A_TENTH * (monotonic() - since))

    def _present(self, now: float) -> bool:
        return bool(self._greedy) and now - self._seen_at < FORGOTTEN_AFTER
