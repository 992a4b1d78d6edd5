"""Fairness: while a few owners fill whole batches, everybody else gets turns of their own.

What is due is taken in the order of its time, so that 50,000 slots of one owner would go before the one slot of
another that comes a moment later. Serving owners in turn would need an index by owner, paid for by every fire. So
batches are counted instead, and only while they come back full: whoever fills a good part of them is left out of an
extra look every quarter of a second, which finds what the others have due. The first such look walks over the whole
crowd; the next ones begin where it ended, as long as they leave out the same owners or more. So an owner that was left
out comes back only so often that such walks take a tenth of the time.
"""

from collections import Counter
from collections.abc import Collection
from time import monotonic
from typing import Final

TURN_EVERY: Final = 0.25
FORGOTTEN_AFTER: Final = 1.0
A_GOOD_PART: Final = 0.25
AT_MOST_A_TENTH: Final = 9
"""After a look that had to begin anew, how many times as long as it took none does so again."""


class Crowd:
    """Who fills the batches of one duty in this process."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._total = 0
        self._since = 0.0
        self._seen_at = -FORGOTTEN_AFTER
        self._next_turn = 0.0
        self._next_anew = 0.0
        self._greedy: frozenset[int] = frozenset()
        self._left_out: frozenset[int] = frozenset()
        self._anew = True

    def saw(self, owner_ids: Collection[int]) -> None:
        """A batch came back full."""
        now = monotonic()
        if now - self._since > FORGOTTEN_AFTER:
            self._counts.clear()
            self._total = 0
            self._since = now
        self._seen_at = now
        self._counts.update(owner_ids)
        self._total += len(owner_ids)
        enough = self._total * A_GOOD_PART
        self._greedy = frozenset(one for one in self._greedy.union(owner_ids) if self._counts[one] >= enough)

    def patience(self, most: float) -> float:
        """How long to wait for room before it may be somebody else's turn."""
        return min(most, TURN_EVERY) if self._present(monotonic()) else most

    def turn(self) -> frozenset[int]:
        """Whom to leave out of this look; nobody, unless it is time to."""
        now = monotonic()
        if not self._present(now) or now < self._next_turn:
            return frozenset()
        self._next_turn = now + TURN_EVERY
        left_out = self._greedy if now >= self._next_anew else self._greedy | self._left_out
        self._anew = not self._left_out or not self._left_out <= left_out
        self._left_out = left_out
        return left_out

    def looked(self, since: float) -> None:
        """A look without the greedy is over; it began at `since`."""
        now = monotonic()
        self._next_turn = now + TURN_EVERY
        if self._anew:
            self._next_anew = now + AT_MOST_A_TENTH * (now - since)

    def _present(self, now: float) -> bool:
        return bool(self._greedy) and now - self._seen_at < FORGOTTEN_AFTER
