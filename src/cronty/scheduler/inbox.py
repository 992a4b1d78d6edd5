"""An agent's inbox: the prompts that have fired for it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

import orjson

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.envelope import INBOX_LEASE as LEASE
from cronty.jobs.envelope import Envelope, RunFacts
from cronty.jobs.outcome import QUIET, Done, Failed, Snoozed
from cronty.jobs.run import read_receipt
from cronty.scheduler.decisions import holdable, kept
from cronty.scheduler.inbox_poll import InboxPoll
from cronty.store.database import Row
from cronty.store.inbox_store import InboxStore, PromptOutcome, facts_of, prompt_of
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

LONGEST_WAIT: Final = timedelta(seconds=20)
MOST_READ: Final = 100
_LOOK_AGAIN: Final = 0.5
_SNOOZE: Final = 'Give one later moment, as in "1h" or "tomorrow at 9:00".'


class Inbox:
    """Each prompt is a run of its job: it waits here from its slot until an agent settles it."""

    def __init__(self, store: InboxStore, lease: timedelta = LEASE) -> None:
        self._store = store
        self._lease = lease.total_seconds()
        self._poll = InboxPoll(store.ready, _LOOK_AGAIN)

    async def read(
        self, caller: Caller, agent: str | None = None, limit: int = 10, wait: timedelta = timedelta(0)
    ) -> Result[list[Envelope]]:
        """The oldest prompts that no agent holds; waits for one if there is none. `agent` None reads for all agents."""
        if not 1 <= limit <= MOST_READ:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_READ}.")
        if not timedelta(0) <= wait <= LONGEST_WAIT:
            seconds = wait.total_seconds()
            return Err("bad_wait", f"Invalid wait: {seconds:g} s", f"Use 0 to {LONGEST_WAIT.seconds} seconds.")
        if agent is not None and not holdable(agent):
            return Ok([])
        give_up = monotonic() + wait.total_seconds()
        rows = await self._store.read(caller.owner, agent, limit, self._lease)
        if rows or not wait:
            return Ok([_item(row) for row in rows])
        with self._poll.waiting(caller.owner) as ready:
            while not rows and (rest := give_up - monotonic()) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(rest):
                        await ready.wait()
                ready.clear()
                rows = await self._store.read(caller.owner, agent, limit, self._lease)
        return Ok([_item(row) for row in rows])

    async def peek(self, caller: Caller, limit: int = 20, after: str | None = None) -> Result[list[Envelope]]:
        """The waiting prompts, oldest first, without handing them out.

        `after` is the run id of the last one seen. A `deadline` in the future means that an agent holds the prompt
        until then, or has snoozed it.
        """
        if not 1 <= limit <= MOST_READ:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_READ}.")
        place = None
        if after is not None:
            found = read_receipt(after)
            if found is None:
                return Err("bad_cursor", f"Invalid run id: {after[:80]}", "Use the last run id of the page before.")
            place = found[1], found[0]
        return Ok([_item(row) for row in await self._store.peek(caller.owner, limit, place)])

    async def about(self, owner_id: int, job_id: int, slot: datetime) -> RunFacts | None:
        """What an envelope says about a run, for delivery outside of the inbox."""
        return await self._store.about(owner_id, job_id, slot)

    async def settle(
        self, caller: Caller, receipts: Sequence[str], outcome: Done | Failed | Snoozed
    ) -> Result[dict[str, bool]]:
        """Record how prompts ended; for each receipt, whether it was accepted."""
        if not receipts:
            return Err("bad_receipt", "No receipt was given.", "Pass the receipts that read_inbox gave.")
        named = {text: read_receipt(text) for text in receipts}
        verdicts = {found[:2]: _verdict(found, outcome) for found in named.values() if found is not None}
        accepted = await self._store.settle(caller.owner, list(verdicts.values())) if verdicts else set[object]()
        return Ok({text: found is not None and found[:2] in accepted for text, found in named.items()})


def outcome_of(
    outcome: str, report: str | None, snooze_for: str | None, clock: tuple[datetime, str]
) -> Done | Failed | Snoozed | Err:
    """An agent's outcome of a prompt (`done`, `quiet`, `failed`, `snooze`); `clock` is the current time and zone."""
    if outcome == "done":
        return Done(result_json(report))
    if outcome == "quiet":
        return QUIET
    if outcome == "failed":
        return Failed(report or "The agent gave no reason.")
    if snooze_for is None:
        return Err("bad_snooze", "Until when? snooze_for is missing.", _SNOOZE)
    now, zone_name = clock
    try:
        until = read_instant(snooze_for, zone_name, now)
    except BadTrigger as bad:
        return Err("bad_snooze", f"Invalid snooze_for: {bad.message}", _SNOOZE)
    if until <= now:
        return Err("bad_snooze", f'Invalid snooze_for: "{snooze_for}" is past.', _SNOOZE)
    return Snoozed(until - now)


def _verdict(run: tuple[int, datetime, int | None], outcome: Done | Failed | Snoozed) -> PromptOutcome:
    match outcome:
        case Done(result):
            return PromptOutcome(*run, "done", None, result, None)
        case Failed(error):
            return PromptOutcome(*run, "failed", None, None, kept(error))
        case Snoozed(wait):
            return PromptOutcome(*run, "waiting", wait.total_seconds(), None, None)


def _item(row: Row) -> Envelope:
    prompt, data, agent = prompt_of(row)
    deadline = row["lease_until"]
    return Envelope(prompt, data, agent, facts_of(row), row["attempt"], deadline, settled_by_receipt=True)


def result_json(text: str | None) -> str | None:
    """An agent's report as a run stores it."""
    return None if text is None else orjson.dumps({"report": kept(text)}).decode()
