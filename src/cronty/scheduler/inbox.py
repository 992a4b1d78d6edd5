"""An agent's inbox: the prompts that have fired for it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

import orjson

from cronty.contract.caller import Caller
from cronty.contract.requests import MAX_LISTED
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.envelope import INBOX_LEASE as LEASE
from cronty.jobs.envelope import Envelope, RunFacts
from cronty.jobs.outcome import QUIET, SHORTEST_SNOOZE, Done, Failed, Snoozed
from cronty.jobs.run import read_receipt
from cronty.jobs.storable import made_storable, storable
from cronty.scheduler.allowance import Allowance
from cronty.scheduler.inbox_poll import InboxPoll
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Row
from cronty.store.inbox_store import RECENT, InboxStore, PromptOutcome, facts_of, prompt_of
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

_LOOK_AGAIN: Final = 0.5
MAX_KEPT: Final = 10_000
"""Characters of an agent's report or error."""

_ENDED: Final = Err("bad_token", "The token isn't valid any more.", "Use another; it was revoked or has expired.")
_GONE: Final = "who waited for it has left"
_SNOOZE: Final = 'Give one later moment, as in "1h" or "tomorrow at 9:00".'


class Inbox:
    """Each prompt is a run of its job: it waits here from its slot until an agent settles it."""

    def __init__(self, store: InboxStore, allowance: Allowance, listeners: Listeners, lease: timedelta = LEASE) -> None:
        self._store = store
        self._allowance = allowance
        self._listeners = listeners
        self._lease = lease.total_seconds()
        self._poll = InboxPoll(store.ready, _LOOK_AGAIN)

    async def read(
        self, caller: Caller, agent: str | None = None, limit: int = 10, wait: timedelta = timedelta(0)
    ) -> Result[list[Envelope]]:
        """The oldest prompts that no agent holds; waits for one if there is none. `agent` None reads what is for
        anyone, and with an agent's key what is for that agent too."""
        if agent is not None and caller.agent is not None and agent != caller.agent:
            message = f"This token is for agent {caller.agent}, who doesn't read what is for {agent[:80]}."
            return Err("not_allowed", message, f"Leave agent out, or name {caller.agent}.", "agent")
        agent = caller.agent or agent
        if agent is not None and not storable(agent):
            return Ok([])
        give_up = monotonic() + wait.total_seconds()
        rows = await self._hand_out(caller, agent, limit)
        if rows or not wait:
            return Ok([_item(row) for row in rows])
        return await self._wait(caller, agent, limit, give_up)

    async def _wait(self, caller: Caller, agent: str | None, limit: int, give_up: float) -> Result[list[Envelope]]:
        """The next prompts that come, until then; none once the caller's token isn't good any more."""
        rows: list[Row] = []
        with self._listeners.listening(caller, "prompts") as taken, self._poll.waiting(caller.owner) as ready:
            if isinstance(taken, Err):
                return taken
            taken.value.when_ended = ready.set
            while not rows and (rest := give_up - monotonic()) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(rest):
                        await ready.wait()
                if taken.value.ended:
                    return _ENDED
                ready.clear()
                if await caller.is_gone():  # what it would be handed nobody else could read for ten minutes
                    break
                # Older prompts are other agents': there may be very many of them.
                rows = await self._hand_out(caller, agent, limit, RECENT)
                if rows and await caller.is_gone():  # that it left may be noticed only now
                    await self._store.put_off(caller.owner, rows, rows[0]["scheduled_for"], _GONE)
                    return Ok([])
        return Ok([_item(row) for row in rows])

    async def _hand_out(self, caller: Caller, agent: str | None, limit: int, within: float | None = None) -> list[Row]:
        """Prompts to read. One that was read before wakes its agent again: those over that limit are put off."""
        rows = await self._store.read(caller.owner, agent, limit, self._lease, within)
        again: dict[str, list[Row]] = {}
        for row in rows:
            if row["attempt"] > 1:
                again.setdefault(prompt_of(row)[2] or "", []).append(row)
        for whom, those in again.items():
            room = await self._allowance.for_waking_again(caller, whom, len(those))
            if late := those[room.allowed :]:
                await self._store.put_off(caller.owner, late, room.next_at, room.reason)
                rows = [row for row in rows if row not in late]
        return rows

    async def peek(self, caller: Caller, limit: int = 20, after: str | None = None) -> Result[list[Envelope]]:
        """The waiting prompts, oldest first, without handing them out; with an agent's key those for that agent.

        `after` is the run id of the last one seen. A `deadline` in the future means that an agent holds the prompt
        until then, or has snoozed it.
        """
        place = None
        if after is not None:
            found = read_receipt(after)
            if found is None:
                return Err("bad_cursor", f"Invalid run id: {after[:80]}", "Use the last run id of the previous page.")
            place = found[1], found[0]
        return Ok([_item(row) for row in await self._store.peek(caller.owner, limit, place, caller.agent)])

    async def about(self, owner_id: int, job_id: int, slot: datetime) -> RunFacts | None:
        """What an envelope says about a run, for delivery outside of the inbox."""
        return await self._store.about(owner_id, job_id, slot)

    async def settle(
        self, caller: Caller, receipts: Sequence[str], outcome: Done | Failed | Snoozed
    ) -> Result[dict[str, bool]]:
        """Record how prompts ended; for each receipt, whether it was accepted. An agent's key settles what is for that
        agent, or for any."""
        if not receipts:
            return Err("bad_receipt", "No receipt was given.", "Pass the receipts that read_inbox gave.")
        if len(receipts) > MAX_LISTED:
            return Err("bad_receipt", f"{len(receipts)} receipts were given.", f"Give 1 to {MAX_LISTED} in one call.")
        if isinstance(outcome, Snoozed) and outcome.wait < SHORTEST_SNOOZE:
            seconds = outcome.wait.total_seconds()
            return Err("bad_snooze", f"A prompt can't be snoozed for {seconds:g} seconds.", "Use 1 minute or more.")
        named = {text: read_receipt(text) for text in receipts}
        verdicts = {found[:2]: _verdict(found, outcome) for found in named.values() if found is not None}
        accepted = await self._store.settle(caller, list(verdicts.values())) if verdicts else set[object]()
        return Ok({text: found is not None and found[:2] in accepted for text, found in named.items()})


def outcome_of(
    outcome: str, report: str | None, snooze_for: str | None, clock: tuple[datetime, str]
) -> Done | Failed | Snoozed | Err:
    """An agent's outcome of a prompt (`done`, `quiet`, `failed`, `snooze`); `clock` is the current time and zone."""
    if outcome == "done":
        return Done(result_json(report))
    if outcome == "quiet":
        return QUIET if report is None else Done(orjson.dumps({"quiet": True, "report": _kept(report)}).decode())
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
        return Err("bad_snooze", f'Invalid snooze_for: "{snooze_for}" is in the past.', _SNOOZE)
    return Snoozed(until - now)


def _verdict(run: tuple[int, datetime, int | None], outcome: Done | Failed | Snoozed) -> PromptOutcome:
    match outcome:
        case Done(result):
            return PromptOutcome(*run, "done", None, result, None)
        case Failed(error):
            return PromptOutcome(*run, "failed", None, None, _kept(error))
        case Snoozed(wait):
            return PromptOutcome(*run, "waiting", wait.total_seconds(), None, None)


def _item(row: Row) -> Envelope:
    prompt, data, agent = prompt_of(row)
    deadline = row["lease_until"]
    return Envelope(prompt, data, agent, facts_of(row), row["attempt"], deadline)


def result_json(text: str | None) -> str | None:
    """An agent's report as a run stores it."""
    return None if text is None else orjson.dumps({"report": _kept(text)}).decode()


def _kept(text: str) -> str:
    return made_storable(text[:MAX_KEPT])
