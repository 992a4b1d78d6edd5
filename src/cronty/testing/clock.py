"""Time that moves only when a test moves it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from cronty.app import Cronty
from cronty.engine.by_hand import AHEAD, ByHand


class HandClock:
    """`by_hand` makes one. Nothing is performed but while one of its methods is awaited."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._engine: ByHand | None = None

    def __call__(self) -> datetime:
        return self.now

    def holds(self, engine: ByHand) -> None:
        """This engine performs what becomes due."""
        self._engine = engine

    async def move(
        self, *, weeks: float = 0, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Let this time pass: each slot and each retry is performed at its moment, one after the other."""
        by = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        if by < timedelta(0):
            raise ValueError(f"Time doesn't go back by {-by}; give a time to move on by.")
        await self._pass_until(self.now + by)

    async def run_until_idle(self) -> None:
        """Perform all that is due now, and what that makes due."""
        await self._pass_until(self.now)

    async def _pass_until(self, end: datetime) -> None:
        while (due := await self._opened.next_at()) is not None and due <= end + AHEAD:
            self.now = max(self.now, min(due, end))
            await self._opened.run_until_idle()
        self.now = end

    @property
    def _opened(self) -> ByHand:
        if self._engine is None:
            raise RuntimeError("This clock moves nothing: use `async with by_hand(cronty, url) as clock:`.")
        return self._engine


@asynccontextmanager
async def by_hand(cronty: Cronty, database_url: str, at: str | datetime | None = None) -> AsyncGenerator[HandClock]:
    """Open a program for a test, on another database, at a moment (UTC unless it says otherwise; None is now).

    Nothing is performed by itself; the clock performs what it makes due. Alerts and told results aren't sent.
    """
    clock = HandClock(_moment(at))
    async with cronty.by_hand(database_url, clock) as engine:
        clock.holds(engine)
        yield clock


def _moment(at: str | datetime | None) -> datetime:
    given = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now(UTC).replace(microsecond=0)
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
