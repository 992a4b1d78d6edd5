"""Tells people what came of a run: sends its result to the channel in its job's policy.

What is to be told is written in the transaction that settles the run, and claimed here for a minute. An engine that
dies in between leaves it to another one, which sends it again under the same id: that of the run.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

from cronty.actions.tasks import CurrentRun, Registry, Task, outcome_of_async
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST
from cronty.jobs.outcome import Done, Failed, Outcome
from cronty.jobs.policy import load_policy
from cronty.jobs.retry import after_attempt
from cronty.jobs.telling import RETRIES, Message, message_about
from cronty.store.database import Row
from cronty.store.telling_store import Telling, TellingStore

BATCH: Final = 20
LEASE: Final = 60.0
PATIENCE: Final = 30.0
"""Seconds for one message; shorter than the lease."""

NEXT_MINUTE: Final = 60.0
"""Seconds until an owner's next try that has made too many calls in this minute."""


class TellingResults:
    """Woken when a result is to be told. Every engine does it."""

    def __init__(self, store: TellingStore, registry: Registry, limiting: Limiting) -> None:
        self._store = store
        self._registry = registry
        self._limiting = limiting

    async def step(self) -> float:
        """Tell a batch of results; seconds until the next, 0 if there may be more."""
        task = self._registry.tasks.get("notify")
        if task is None:
            return MAX_REST
        rows = await self._store.claim(BATCH, LEASE)
        if not rows:
            return MAX_REST
        held = await self._held(rows)
        ended = await asyncio.gather(*(self._tell(task, row, held=index in held) for index, row in enumerate(rows)))
        await self._store.settle(ended)
        waits = [one.wait for one in ended if one.wait is not None]
        return 0 if len(rows) == BATCH else min(waits, default=MAX_REST)

    async def _held(self, rows: Sequence[Row]) -> set[int]:
        """Those that must wait for the next minute, the last ones of each owner."""
        over = Counter(await self._limiting.calls_over(Counter(row["owner_id"] for row in rows), rows[0]["now"]))
        held: set[int] = set()
        for index in reversed(range(len(rows))):
            if over[rows[index]["owner_id"]] > 0:
                over[rows[index]["owner_id"]] -= 1
                held.add(index)
        return held

    async def _tell(self, task: Task, row: Row, *, held: bool) -> Telling:
        job_id, slot, tries = row["job_id"], row["scheduled_for"], row["tries"]
        policy = load_policy(row["policy"])
        if row["state"] not in ("done", "failed"):
            return Telling(
                job_id, slot, tries, "failed", None, True, policy.tell, "Its run isn't there any more.", None
            )
        said = message_about(policy, row["name"], row["state"], row["result"], row["error"], row["told_before"])
        if not isinstance(said, Message):
            return Telling(job_id, slot, tries, said, None, False, policy.tell, None, None)
        if held:
            why = "Too many calls in this minute."
            return Telling(job_id, slot, tries, "waiting", NEXT_MINUTE, False, policy.tell, why, None)
        run = CurrentRun(row["owner_id"], job_id, row["job_number"], slot, tries, row["epoch"])
        outcome = await _sent(task, run, said)
        if isinstance(outcome, Done):
            return Telling(job_id, slot, tries, "delivered", None, False, policy.tell, None, said.digest)
        settled = after_attempt(outcome, row["failures"], RETRIES, random.random())
        wait = None if settled.wait is None else settled.wait.total_seconds()
        state = "failed" if wait is None else "waiting"
        return Telling(job_id, slot, tries, state, wait, True, policy.tell, settled.error, None)


async def _sent(task: Task, run: CurrentRun, message: Message) -> Outcome:
    try:
        async with asyncio.timeout(PATIENCE):
            return await outcome_of_async(task, run, message.arguments_json())
    except TimeoutError:
        return Failed(f"Timeout: it took longer than {PATIENCE:g} s")
