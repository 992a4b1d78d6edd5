"""The inbox: prompts that have fired and wait for an agent to read and settle them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.envelope import RunFacts
from cronty.store.alerts import change_jobs
from cronty.store.audit_store import who
from cronty.store.database import Connection, Database, Row, columns
from cronty.store.lines import release_lines
from cronty.store.telling_store import tell_runs

RECENT: Final = 30.0
"""How many seconds back a waiting reader looks again: longer than a reader waits, who looked at all prompts before."""


class PromptOutcome(NamedTuple):
    """How a prompt ended, by its agent. `attempt` None: the current one. `wait`: seconds until it is shown again."""

    job_number: int
    slot: datetime
    attempt: int | None
    state: str
    wait: float | None
    result: str | None
    error: str | None


class InboxStore:
    """A prompt that was read is shown again when its lease expires, until it is settled."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self, owner: str, agent: str | None, limit: int, lease: float, within: float | None = None
    ) -> list[Row]:
        """Hand prompts out; `within` only those that could be read for so many seconds."""
        given = (owner, agent, limit, lease, within)
        rows = await self._database.of(owner).fetch("read_inbox", self._database.moment(), *given)
        return sorted(rows, key=lambda row: (row["scheduled_for"], row["job_number"]))

    async def ready(self, owners: Sequence[str]) -> set[str]:
        """Which of these owners have a recent prompt to read."""
        rows = await self._database.for_the_engine().fetch("inbox_ready", self._database.moment(), owners, RECENT)
        return {row["name"] for row in rows}

    async def put_off(self, owner: str, prompts: Sequence[Row], until: datetime, reason: str) -> None:
        """Put prompts back that were just read, as if they had not been; they are shown again from `until` on."""
        places = [(row["job_number"], row["scheduled_for"], row["attempt"]) for row in prompts]
        await self._database.of(owner).change("put_off_prompts", owner, *columns(places, 3), until, reason)

    async def peek(
        self, owner: str, limit: int, after: tuple[datetime, int] | None, agent: str | None = None
    ) -> list[Row]:
        """The prompts in the inbox (of this agent), also those that are leased or snoozed; nothing is changed."""
        place = after or (None, None)
        return await self._database.of(owner).fetch("peek_inbox", self._database.moment(), owner, limit, *place, agent)

    async def about(self, owner_id: int, job_id: int, slot: datetime) -> RunFacts | None:
        """What is known about a run, for the worker that wakes its agent; None if the run is gone."""
        row = await self._database.for_the_engine().one("about_run", self._database.moment(), owner_id, job_id, slot)
        if row is None:
            return None
        more = {name: row[name] for name in ("reminder", "handed_at", "handed", "pressed")}
        return replace(facts_of(row), **more)

    async def settle(self, caller: Caller, outcomes: Sequence[PromptOutcome]) -> set[tuple[int, datetime]]:
        """The runs whose outcome was accepted; the others are settled already, were handed out again, or are for
        another agent than the caller."""
        owner, now = caller.owner, self._database.moment()
        theirs = self._database.of(owner)
        given = (now, owner, *columns(outcomes, 7), caller.agent, *who(caller))

        async def settle(connection: Connection) -> list[Row]:
            rows = await change_jobs(connection, now, "settle_inbox", *given)
            ended = [(row["job_id"], row["scheduled_for"]) for row in rows if row["tells"]]
            await tell_runs(connection, now, ended)
            return rows

        rows = await theirs.together(settle)
        # After the commit, because a job's due row must be locked before its runs.
        if over := sorted({row["job_id"] for row in rows if row["over"]}):
            await release_lines(theirs, now, over)
        if failed := [(row["job_id"], None) for row in rows if row["verdict"] == "failed"]:
            await theirs.together(lambda c: change_jobs(c, now, "pause_failing", now, *columns(failed, 2)))
        return {(row["job_number"], row["scheduled_for"]) for row in rows}


def facts_of(row: Row) -> RunFacts:
    return RunFacts(
        job_number=row["job_number"],
        owner=row["owner"],
        name=row["name"],
        zone=row["zone"],
        made_at=row["created_at"],
        origin=None if row["origin"] is None else orjson.loads(row["origin"]),
        scheduled_for=row["scheduled_for"],
        previous_slot=row["previous_slot"],
        asked_for=row["manual"],
        now=row["now"],
    )


def prompt_of(row: Row) -> tuple[str, object, str | None]:
    """A prompt's instruction, data and agent."""
    kwargs = orjson.loads(row["arguments"])["kwargs"]
    return str(kwargs.get("prompt", "")), kwargs.get("data"), kwargs.get("agent")
