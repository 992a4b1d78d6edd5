"""Fairness: while a few owners fill whole batches, the other owners get turns of their own.

Due slots are taken in time order, so 50,000 slots of one owner would go before a single slot of another owner that is
due a moment later. Serving owners in turn would need an index by owner, and every fire would pay for it. Instead, the
owners in full batches are counted. Owners that fill a large part of them ("greedy") are left out of an extra look
every quarter of a second, which finds what the other owners have due.

The first such look walks over all slots of the greedy owners. Later looks start where it ended, as long as they leave
out at least the same owners. So an owner that is no longer greedy is still left out for a while: full walks take at
most a tenth of the time.

Owners whose slow tasks hold the places of a full worker are greedy in the same way, however few runs they have.
"""

from collections import Counter
from collections.abc import Collection
from time import monotonic
from typing import Final

TURN_EVERY: Final = 0.25
FORGOTTEN_AFTER: Final = 1.0
LARGE_PART: Final = 0.25
FULL_WALK_PAUSE: Final = 9
"""No full walk starts until this many times the length of the last one has passed."""


class Crowd:
    """Which owners fill the batches of one duty in this process."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._total = 0
        self._since = 0.0
        self._seen_at = -FORGOTTEN_AFTER
        self._next_turn = 0.0
        self._next_full_walk = 0.0
        self.greedy: frozenset[int] = frozenset()
        """Who fills a large part of what was seen last."""
        self._left_out: frozenset[int] = frozenset()
        self._full_walk = True

    def saw(self, owner_ids: Collection[int]) -> None:
        """A batch was full, or the worker; these are the owners of its rows, or of what it performs."""
        now = monotonic()
        if now - self._since > FORGOTTEN_AFTER:
            self._counts.clear()
            self._total = 0
            self._since = now
        self._seen_at = now
        self._counts.update(owner_ids)
        self._total += len(owner_ids)
        enough = self._total * LARGE_PART
        self.greedy = frozenset(one for one in self.greedy.union(owner_ids) if self._counts[one] >= enough)

    def patience(self, most: float) -> float:
        """How long to wait for a free place, at most until the other owners' next turn."""
        return min(most, TURN_EVERY) if self._present(monotonic()) else most

    def turn(self) -> frozenset[int]:
        """Which owners to leave out of this look; none unless it is the other owners' turn."""
        now = monotonic()
        if not self._present(now) or now < self._next_turn:
            return frozenset()
        self._next_turn = now + TURN_EVERY
        left_out = self.greedy if now >= self._next_full_walk else self.greedy | self._left_out
        self._full_walk = not self._left_out or not self._left_out <= left_out
        self._left_out = left_out
        return left_out

    def looked(self, since: float) -> None:
        """A look without the greedy owners has ended; it began at `since`."""
        now = monotonic()
        self._next_turn = now + TURN_EVERY
        if self._full_walk:
            self._next_full_walk = now + FULL_WALK_PAUSE * (now - since)

    def _present(self, now: float) -> bool:
        return bool(self.greedy) and now - self._seen_at < FORGOTTEN_AFTER
