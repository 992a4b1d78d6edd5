"""Cronty with the stage's clock and luck, in two versions at once."""

# pyright: reportPrivateUsage=false

import asyncio
import logging
import random
import secrets
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

import orjson

from chaos.life.actors import TurnLock, TurnSemaphore
from chaos.life.product import MOVED_ZONE, NEWER_FIELD, TZDATA, VERSION
from chaos.life.stage import Stage
from cronty.engine import claiming, firing, lease, limiting, planning, rescuing, retiming, settling, working
from cronty.jobs import policy as policies
from cronty.store import new_job, zone_store
from cronty.timing import cron, zones

STRETCHED: Final[Sequence[tuple[ModuleType, str]]] = (
    (firing, "LOOK_BACK"), (firing, "LOOK_BACK_EVERY"), (firing, "LOOK_EVERYWHERE_EVERY"), (limiting, "REFRESH_EVERY"),
    (rescuing, "LOOK_FOR_LOST_EVERY"), (settling, "REFUSED_REST"), (zone_store, "EVERY_ENGINE_HAS_HEARD"),
)  # fmt: skip
"""Times of Cronty that go with the scale of a life, as leases and rules do."""


LATELY: Final = 2.0
"""Seconds that count as lately where time goes by seconds: else no engine would ever claim ahead."""


class _Asyncio(ModuleType):
    """asyncio, with sleeps that take no time, as the gate decides who goes first, and locks that are gates."""

    Lock = TurnLock
    Semaphore = TurnSemaphore

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(_seconds: float) -> None:
        await asyncio.sleep(0)


class _Secrets(ModuleType):
    """Secrets that the seed tells."""

    def __init__(self, luck: random.Random) -> None:
        super().__init__("secrets")
        self.randbits = luck.getrandbits


@contextmanager
def simulated(stage: Stage) -> Generator[None]:
    """For as long as the block lasts."""
    replaced: list[tuple[Any, str, object]] = []

    def put(module: Any, name: str, value: object) -> None:
        replaced.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def compile_by_version(text: str, zone: str, *rest: Any) -> object:
        return compiled(text, _zone(zone), *rest)

    def rules_by_version(name: str) -> str:
        return zones.zone_rules(_zone(name))

    luck = random.Random(stage.seed)
    compiled = cron._compiled
    standing_in: list[tuple[object, object]] = [
        (time.monotonic, lambda: stage.mono),
        (random, luck),
        (secrets, _Secrets(luck)),
        (asyncio, _Asyncio("asyncio")),
        (policies.load_policy, _versioned_policy),
    ]
    for module in [one for name, one in sys.modules.items() if name.startswith("cronty.")]:
        for name, value in list(vars(module).items()):
            for real, stand_in in standing_in:
                if value is real and module is not policies:
                    put(module, name, stand_in)
    for module in (retiming, lease, new_job):
        put(module, "tzdata_version", lambda: TZDATA[VERSION.get()])
    for module in (retiming, new_job):
        put(module, "zone_rules", rules_by_version)
    put(lease, "since_boot", lambda: stage.mono + stage.asleep)
    put(cron, "_compiled", compile_by_version)
    for module, name in STRETCHED:
        put(module, name, getattr(module, name) * stage.scale)
    put(working, "PACE_WINDOW", LATELY * stage.scale)
    put(working, "PATIENCE", 0)
    for module in (firing, claiming):
        put(module, "BATCH", stage.settings.batch)
    # Remembered across versions they would be those of whichever asked first.
    put(firing, "policy_of", planning.policy_of.__wrapped__)
    put(planning, "_cron", planning.__dict__["_cron"].__wrapped__)
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        for module, name, value in reversed(replaced):
            setattr(module, name, value)


def _zone(name: str) -> str:
    """By whose clocks a zone goes in the running version."""
    return MOVED_ZONE[1] if name == MOVED_ZONE[0] and VERSION.get() == "newer" else name


def _versioned_policy(stored: str) -> policies.Policy:
    if VERSION.get() == "newer":
        known = orjson.loads(stored)
        stored = orjson.dumps(
            {key: value for key, value in known.items() if key not in orjson.loads(NEWER_FIELD)}
        ).decode()
    return policies.load_policy(stored)
