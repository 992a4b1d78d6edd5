"""Counts refused tokens: the trail and the log tell of them once a minute, however many there were."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Result
from cronty.scheduler.service import Service, StoreUnavailable
from cronty.web.callers import FindCaller

EVERY: Final = 60.0

log = logging.getLogger("cronty.web")


class Refusals:
    def __init__(self) -> None:
        self._reasons = Counter[str]()

    def counted(self, find_caller: FindCaller) -> FindCaller:
        """The same, counting the tokens it refuses; a call without one isn't a try."""

        async def find_and_count(token: str | None) -> Result[Caller]:
            known = await find_caller(token)
            if token is not None and isinstance(known, Err):
                self._reasons[known.reason] += 1
            return known

        return find_and_count

    async def note(self, service: Service) -> None:
        """Write down what was counted; if the database is away, the next time."""
        reasons, self._reasons = self._reasons, Counter[str]()
        if not reasons:
            return
        try:
            await service.trail.note_refused(reasons)
        except StoreUnavailable:
            self._reasons += reasons
            return
        told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        log.warning("%d token(s) refused: %s", reasons.total(), told)

    async def keep_noting(self, service: Callable[[], Service]) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self.note(service())
