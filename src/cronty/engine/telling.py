"""Tells people what came of a run: sends its result to the channel in its job's policy.

What is to be told is written in the transaction that settles the run, and claimed here for a minute. An engine that
dies in between leaves it to another one, which sends it again under the same id: that of the run. How it went is kept
until the database has it. A channel that doesn't answer holds up nobody but its owner: each has a share of what is
sent at once, and the next results are claimed while slow ones are still on their way.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from time import monotonic
from typing import Final, Literal, NamedTuple

from cronty import telemetry
from cronty.actions.tasks import CurrentRun, Registry, Task, outcome_of_async
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST
from cronty.engine.sending import Sending
from cronty.jobs.outcome import Done, Failed, Outcome
from cronty.jobs.policy import load_policy
from cronty.jobs.retry import after_attempt
from cronty.jobs.telling import RETRIES, Message, message_about
from cronty.store.database import Row
from cronty.store.telling_store import Telling, TellingStore

BATCH: Final = 20
"""How many messages this process sends at once."""

SHARE: Final = 5
"""How many of one owner are claimed at once, and on their way before its others wait."""

LEASE: Final = 60.0
PATIENCE: Final = 30.0
"""Seconds for one message; shorter than the lease."""

NEXT_MINUTE: Final = 60.0
"""Seconds until an owner's next try that has made too many calls in this minute."""


class _About(NamedTuple):
    """Where a result is told, and how: in a message, not at all, or None if its run is gone."""

    channel: str
    text: Message | Literal["quiet", "unchanged"] | None


class TellingResults:
    """Woken when a result is to be told. Every engine does it."""

    def __init__(self, store: TellingStore, registry: Registry, limiting: Limiting) -> None:
        self._store = store
        self._registry = registry
        self._limiting = limiting
        self._sending = Sending[Telling]("tell", self._settle, BATCH, SHARE)
        self._limited: dict[int, datetime] = {}
        """Owners with too many calls in this minute, and until when."""
        self._again_at = inf
        """When the first that failed is tried again, on this process's clock."""

    async def step(self) -> float:
        """Tell a batch of results; seconds until the next, 0 if there may be more."""
        task = self._registry.tasks.get("notify")
        if task is None:
            return MAX_REST
        await self._sending.settle()
        if self._again_at <= monotonic():
            self._again_at = inf
        was_empty, free = self._sending.is_empty, self._sending.free
        rows = await self._claim(free) if free else []
        about = [(row, said) for row in rows if (said := _about(row)) is not None]
        held = await self._held([row for row, said in about if isinstance(said.text, Message)])
        for row, said in about:
            self._sending.start(row["owner_id"], self._tell(task, row, said, held=_key(row) in held))
        await self._sending.wait()
        return 0 if rows or not was_empty else min(self._again_at - monotonic(), MAX_REST)

    async def finish(self, patience: float) -> None:
        await self._sending.finish(patience)

    async def _settle(self, tellings: list[Telling]) -> None:
        await self._store.settle(tellings)
        waits = (one.wait for one in tellings if one.wait is not None)
        self._again_at = min(self._again_at, monotonic() + min(waits, default=inf))

    async def _claim(self, free: int) -> list[Row]:
        rows = await self._store.claim(free, LEASE, SHARE, self._sending.busy(), self._limited)
        if rows:
            now = rows[0]["now"]
            self._limited = {owner: until for owner, until in self._limited.items() if until > now}
        return rows

    async def _held(self, rows: Sequence[Row]) -> set[tuple[int, datetime]]:
        """Those that must wait for the next minute, the last ones of each owner."""
        if not rows:
            return set()
        now: datetime = rows[0]["now"]
        over = Counter(await self._limiting.calls_over(Counter(row["owner_id"] for row in rows), now))
        held: set[tuple[int, datetime]] = set()
        for row in reversed(rows):
            if over[row["owner_id"]] > 0:
                over[row["owner_id"]] -= 1
                held.add(_key(row))
                self._limited[row["owner_id"]] = now + timedelta(seconds=NEXT_MINUTE)
        return held

    async def _tell(self, task: Task, row: Row, about: _About, *, held: bool) -> Telling:
        (job_id, slot), tries, channel, said = _key(row), row["tries"], about.channel, about.text
        failures: int = row["failures"]
        if said is None:
            gone = "Its run isn't there any more."
            return Telling(job_id, slot, tries, "failed", None, failures + 1, channel, gone, None)
        if not isinstance(said, Message):
            return Telling(job_id, slot, tries, said, None, failures, channel, None, None)
        if held:
            why = "Too many calls in this minute."
            return Telling(job_id, slot, tries, "waiting", NEXT_MINUTE, failures, channel, why, None)
        run = CurrentRun(row["owner_id"], job_id, row["job_number"], slot, tries, row["epoch"])
        outcome = await _sent(task, run, said)
        if isinstance(outcome, Done):
            return Telling(job_id, slot, tries, "delivered", None, failures, channel, None, said.digest)
        settled = after_attempt(outcome, failures, RETRIES, random.random())
        wait = None if settled.wait is None else settled.wait.total_seconds()
        state = "failed" if wait is None else "waiting"
        return Telling(job_id, slot, tries, state, wait, failures + 1, channel, settled.error, None)


def _key(row: Row) -> tuple[int, datetime]:
    return row["job_id"], row["scheduled_for"]


def _about(row: Row) -> _About | None:
    """What is told of a run; None for one that can't be read, which is taken again when its lease has passed."""
    try:
        policy = load_policy(row["policy"])
        if row["state"] not in ("done", "failed"):
            return _About(policy.tell, None)
        given = (row["name"], row["state"], row["result"], row["error"], row["told_before"])
        return _About(policy.tell, message_about(policy, *given))
    except Exception as error:
        telemetry.step_failed("tell", error, 1)
        return None


async def _sent(task: Task, run: CurrentRun, message: Message) -> Outcome:
    try:
        async with asyncio.timeout(PATIENCE):
            return await outcome_of_async(task, run, message.arguments_json())
    except TimeoutError:
        return Failed(f"Timeout: it took longer than {PATIENCE:g} s")
