"""A scripted agent, run as a program of its own: reads its inbox, acts, and sometimes dies before it says so."""

import asyncio
import os
import random
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

import orjson

from chaos.worker import die_with_parent
from cronty.contract.caller import local_caller
from cronty.contract.result import Err
from cronty.jobs.envelope import Envelope
from cronty.jobs.limits import Limits
from cronty.jobs.outcome import Done
from cronty.scheduler.allowance import Allowance
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from cronty.store.limit_store import LimitStore

OWNER: Final = "chaos"
DAWDLES: Final = 0.03
"""How often it acknowledges only when its lease has passed."""


class Agent:
    """What it acts on, and what was accepted of it, is written to files that survive it.

    `dies` says how often it dies instead of acknowledging what it has read, half of the times in the middle of acting.
    """

    def __init__(self, name: str, inbox: Inbox, lease: float, dies: float, folder: Path) -> None:
        self._name = name
        self._inbox = inbox
        self._lease = lease
        self._dies = dies
        self._chance = random.Random(os.getpid())
        self._acted = (folder / f"{os.getpid()}.trace").open("a", buffering=1)
        self._accepted = (folder / f"{os.getpid()}.accepted").open("a", buffering=1)

    async def turn(self) -> None:
        read = await self._inbox.read(
            local_caller(OWNER), self._name, limit=self._chance.randint(1, 25), wait=timedelta(seconds=1)
        )
        assert not isinstance(read, Err), read
        fate = self._chance.random() if read.value else 1.0
        last = self._chance.randrange(len(read.value)) if fate < self._dies / 2 else None
        for number, item in enumerate(read.value):
            self._act(item)
            if number == last:
                self._die()
        if fate < self._dies:
            self._die()
        if fate < self._dies + DAWDLES:
            await asyncio.sleep(self._lease * 1.5)
        await asyncio.gather(*(self._acknowledge(item) for item in read.value))

    def _act(self, item: Envelope) -> None:
        said = item.as_json()
        self._acted.write(f"{said['run_id']} {item.attempt} {os.getpid()} {time.monotonic():.6f}\n")

    async def _acknowledge(self, item: Envelope) -> None:
        said = item.as_json()
        result = orjson.dumps([item.attempt, os.getpid()]).decode()
        settled = await self._inbox.settle(local_caller(OWNER), [str(said["receipt"])], Done(result))
        assert not isinstance(settled, Err), settled
        for accepted in settled.value.values():
            self._accepted.write(f"{said['run_id']} {int(accepted)}\n")

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


async def work(name: str, lease: float, dies: float) -> None:
    database = await Database(os.environ["CRONTY_DATABASE_URL"], size=4).open()
    unlimited = Allowance(LimitStore(database), Limits(wakes_per_hour=0))
    inbox = Inbox(InboxStore(database), unlimited, Listeners(KeyStore(database).ended), lease=timedelta(seconds=lease))
    agent = Agent(name, inbox, lease, dies, Path(os.environ["CHAOS_TRACES"]))
    while True:
        await agent.turn()


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(work(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
