"""What an owner has and has used, for checking its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isqrt
from typing import Final, cast

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.envelope import INBOX_LEASE
from cronty.jobs.limits import CALLS, REFUSED
from cronty.store.alerts import Held, tell_held
from cronty.store.audit_store import who
from cronty.store.database import Bound, Connection, Database, Joined, query

type RunPlace = tuple[int, datetime]
"""A run by its job, by id or by number, and its slot."""

type Digest = bytes

FEWEST_UNCOUNTED: Final = 50
MOST_UNCOUNTED: Final = 1000


@dataclass(frozen=True, slots=True)
class Standing:
    """What the scheduler must know before it makes a job.

    `limits` are the owner's own. `parent` is the run that makes the request, by its job's number; `parent_job` is
    that job's id, and `depth` how long the chain is of jobs made by runs. `made` is the number of the job that has the
    idempotency key, and `made_by` the digest of the request that made it. `tasks` are the parameters of the requested
    tasks that a worker has published; those in `not_for_owner` are published for other owners only.
    `channels` are the names of the owner's channels, if they were asked for, and whether there is one behind each.

    `jobs` and `bytes` may be too high, because they include jobs that ended since the last count, and too low by jobs
    that were being made during it.
    """

    now: datetime
    owner_id: int | None
    zone: str | None
    limits: Mapping[str, object]
    jobs: int
    bytes: int
    uncounted: int
    parent: RunPlace | None
    parent_job: int | None
    depth: int
    made: int | None
    tasks: Mapping[str, dict[str, object]]
    erasing: bool = False
    made_by: Digest | None = None
    not_for_owner: Sequence[str] = ()
    channels: Mapping[str, bool] = field(default_factory=dict[str, bool])

    @property
    def is_recount_due(self) -> bool:
        """Each look counts the new jobs, and a recount counts all of the owner's: with the square root both cost about
        the same."""
        return self.uncounted >= min(max(2 * isqrt(self.jobs), FEWEST_UNCOUNTED), MOST_UNCOUNTED)


class LimitStore:
    """Statements about limits, used before a job is made."""

    def __init__(self, database: Database, transaction: Connection | None = None) -> None:
        """With an open `transaction`, all statements run in it."""
        self._database = database
        self._transaction = transaction

    def _of(self, owner: str) -> Bound:
        return self._database.of(owner) if self._transaction is None else Joined(self._database, self._transaction)

    async def standing(
        self,
        owner: str,
        run: RunPlace | None = None,
        *,
        leased: bool = False,
        agent: str | None = None,
        key: str | None = None,
        tasks: Sequence[str] = (),
        channels: bool = False,
    ) -> Standing:
        """`run` is the run that makes the request, by its job's id. `leased`: without it, the prompt read last."""
        job_id, slot = run or (None, None)
        row = await self._of(owner).one(
            "standing",
            now=self._database.moment(),
            owner=owner,
            job_id=job_id,
            slot=slot,
            leased=leased,
            agent=agent,
            lease=INBOX_LEASE.total_seconds(),
            key=key,
            tasks=tasks,
            channels=channels,
        )
        assert row is not None
        return Standing(
            row["now"],
            row["owner_id"],
            row["zone"],
            {} if row["limits"] is None else orjson.loads(row["limits"]),
            row["jobs"],
            row["bytes"],
            row["uncounted"],
            None if row["job_id"] is None else (row["job_number"], row["scheduled_for"]),
            row["job_id"],
            row["depth"] or 0,
            row["made"],
            {} if row["tasks"] is None else orjson.loads(row["tasks"]),
            row["erasing"],
            row["made_by"],
            row["not_for_owner"],
            {} if row["channels"] is None else orjson.loads(row["channels"]),
        )

    async def recount(self, owner: str) -> tuple[int, int]:
        """How many jobs will still run, and how many bytes their arguments take up."""
        row = await self._of(owner).one("recount", owner, self._database.moment())
        return (0, 0) if row is None else (row["jobs"], row["bytes"])

    async def save(self, caller: Caller, limits: Mapping[str, object] | None) -> None:
        operator = self._database.for_the_operator()
        await operator.change("ensure_owner", caller.owner)
        text = orjson.dumps(limits).decode() if limits else None
        await operator.change("save_limits", caller.owner, text, *who(caller), self._database.moment())

    async def count_use(self, owner: str, what: str, since: datetime, times: int = 1) -> int:
        """Count uses; how many there are since then. 0 for an unknown owner."""
        return cast("int | None", await self._of(owner).value("count_use", owner, what, since, times)) or 0

    async def usage(self, owner: str, hour: datetime, day: datetime, minute: datetime) -> dict[str, int]:
        """What an owner has used since these began."""
        rows = await self._database.of(owner).fetch("list_usage", owner, hour, day, minute, CALLS)
        return {row["what"]: row["used"] for row in rows}

    async def count_refusal(self, owner: str, limit: str, now: datetime, since: datetime, held: Held) -> bool:
        """Count a refusal; the owner is told of the first one since then, in the same transaction."""

        async def count(connection: Connection) -> bool:
            if await connection.fetchval(query("count_use"), owner, f"{REFUSED}{limit}", since, 1) != 1:
                return False
            await tell_held(connection, now, [held])
            return True

        return await self._of(owner).together(count)
