"""How many more runs of each owner may start now: by the owner's limit, or by its share of a full worker's places."""

from collections.abc import Mapping
from typing import Final

NO_LIMIT: Final = 2**31 - 1


class RunsLeft:
    """`left` is for single owners, `usual` for each other one."""

    def __init__(self, left: Mapping[int, int], usual: int = NO_LIMIT) -> None:
        self.left = dict(left)
        self.usual = usual

    def of(self, owner_id: int) -> int:
        return self.left.get(owner_id, self.usual)

    def take(self, owner_id: int) -> bool:
        """Count one more run; whether it may start."""
        left = self.of(owner_id)
        self.left[owner_id] = left - 1
        return left > 0

    def full(self) -> list[int]:
        return [owner for owner, left in self.left.items() if left <= 0]

    def within(self, other: "RunsLeft | None") -> "RunsLeft":
        """What both leave."""
        if other is None:
            return self
        owners = {*self.left, *other.left}
        return RunsLeft({one: min(self.of(one), other.of(one)) for one in owners}, min(self.usual, other.usual))


def left_by_limits(usual: int, own: Mapping[int, int], running: Mapping[int, int]) -> RunsLeft:
    """`usual` is the default limit of concurrent runs, `own` has those of single owners; 0 means none."""
    limits = {owner: own.get(owner, usual) or NO_LIMIT for owner in {*own, *running}}
    return RunsLeft({owner: most - running.get(owner, 0) for owner, most in limits.items()}, usual or NO_LIMIT)


def left_by_shares(free: int, held: Mapping[int, int]) -> RunsLeft:
    """No owner gets more than half of the places that the others leave free; who has none may take one.

    So whoever comes next finds a place, until very many owners hold as much as they can.
    """
    return RunsLeft({owner: max(0, (free - count) // 2) for owner, count in held.items()}, max(0, (free + 1) // 2))
