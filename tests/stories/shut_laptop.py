"""A laptop with a phone beside it: what is done while it is open, and an ntfy that goes on while it is shut."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
import pytest

from cronty import Cronty
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.engine.handing import Ahead, HandingOver
from cronty.store.sealing import Sealer, new_key
from tests.conftest import HandClock, Hands, hands_of
from tests.stories.keeping_ntfy import KeepingNtfy, keeping_ntfy

ANN = local_caller("ann")


@dataclass
class Laptop:
    """`awake` is what it does while it is open; shut, it does nothing and ntfy goes on."""

    cronty: Cronty
    hands: Hands
    ntfy: KeepingNtfy
    clock: HandClock

    @property
    def handing(self) -> HandingOver:
        assert self.hands.engine.handing is not None
        return self.hands.engine.handing

    async def channel(
        self, topic: str = "hard-to-guess", *, ahead: bool = True, caller: Caller = ANN, at: str | None = None
    ) -> None:
        added = await self.cronty.service.channels.add(
            caller, "phone", f"ntfy://{at or self.ntfy.allowed}/{topic}", ahead=ahead
        )
        assert isinstance(added, Ok), added

    async def remind(
        self,
        when: str | timedelta = timedelta(hours=1),
        message: str = "Call mum",
        caller: Caller = ANN,
        **more: Any,
    ) -> int:
        at = when if isinstance(when, str) else f"{(self.clock() + when).isoformat()}"
        config = {"text": at} if isinstance(when, str) else {"run_at": at}
        request = ScheduleJob(
            "mum", "notify", "words" if isinstance(when, str) else "once", config,  # pyright: ignore[reportArgumentType]
            kwargs={"message": message, "topic": "phone"}, timezone="UTC", **more,
        )  # fmt: skip
        made = await self.cronty.service.scheduler.schedule(caller, request)
        assert isinstance(made, Ok), made
        return made.value.number

    async def awake(self) -> None:
        """All that is due, and everything to be given to ntfy or taken back."""
        await self.hands.all()
        await self.hand_over()

    async def hand_over(self) -> None:
        self.handing._look_at = 0.0  # pyright: ignore[reportPrivateUsage]  # it rests longer where looking took long
        while await self.handing.step() == 0:
            pass

    async def result(self, number: int = 1) -> Any:
        runs = await self.cronty.service.scheduler.list_runs(ANN, number)
        assert isinstance(runs, Ok)
        return orjson.loads(runs.value[0].result or "null")


@asynccontextmanager
async def open_laptop(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, *others: KeepingNtfy
) -> AsyncGenerator[Laptop]:
    key = new_key()
    async with keeping_ntfy(clock) as ntfy:
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", ",".join(f"{one.allowed}@*" for one in (ntfy, *others)))
        monkeypatch.setenv("CRONTY_SECRET_KEY", key)
        monkeypatch.setenv("CRONTY_AHEAD", "true")
        async with Cronty(url, run_jobs=False, clock=clock) as cronty:
            ahead = Ahead(cronty._outside.notify, Sealer.read(key))  # pyright: ignore[reportPrivateUsage]
            async with hands_of(url, clock, cronty.registry, ahead) as hands:
                yield Laptop(cronty, hands, ntfy, clock)
