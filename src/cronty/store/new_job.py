"""Stores new jobs: on our own connection, or in a transaction that the caller has opened on its own."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.policy import Policy, spread_delay
from cronty.store.database import Database, StoreUnavailable
from cronty.store.enqueuing import Enqueuing
from cronty.store.notices import Notices
from cronty.store.numbers import Numbers
from cronty.timing import Calendar, Cron, Interval, Once, Trigger, to_stored, tzdata_version, zone_rules

_TRIES: Final = 20

type Make = Callable[[str], Awaitable[str]]
"""Runs `add_job` with a job as text; its answer, `{}` if the job's number is taken."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that isn't stored yet."""

    name: str
    action: Action
    trigger: Trigger
    said: str | None
    zone: str
    policy: Policy
    tags: Sequence[str]
    max_runs: int | None
    ends_at: datetime | None
    idempotency_key: str | None
    request: bytes | None
    first_slot: datetime
    slots_after: datetime
    created_at: datetime
    origin: Mapping[str, object]
    unique_key: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """The job that was made, by its `id`; or, without one, the job that has its key: its slot, and the digest of the
    request that it was made by (none if it is found by its unique key)."""

    id: int | None
    number: int
    created_at: datetime
    slot: datetime
    request: bytes | None = None


class NewJobs:
    """One per process and database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers = Numbers(database)
        self._enqueuing = Enqueuing(database)
        self.notices = Notices(lambda message: database.value("notify", message))

    async def add(
        self, caller: Caller, new: NewJob, connection: object | None = None, *, make: Make | None = None
    ) -> Added | None:
        """Store a new job, unless another has its key; in the open transaction of `connection`, the caller's own, or
        with `make`, which runs `add_job` together with something else. None if the owner is being erased."""
        owner = caller.owner
        delay = spread_delay(owner, new.name, new.policy.spread)
        due = new.first_slot + timedelta(seconds=delay)
        for _ in range(_TRIES):
            number = await self._numbers.next(owner)
            # In a transaction always: nobody knows when it ends, and engines don't look for what is long overdue.
            say = connection is not None or self.notices.at_once(due, new.created_at)
            row = _row(caller, new) | {"number": number, "delay": delay, "say": say}
            answer = await self._add(owner, row, connection, make)
            if (made := answer.get("id")) is not None:
                if connection is None:
                    self.notices.done(due, new.created_at, said=say)
                return Added(made, number, new.created_at, new.first_slot)
            if "erasing" in answer:
                return None
            if answer:
                created_at, slot = (datetime.fromisoformat(answer[name]) for name in ("created_at", "slot"))
                request = bytes.fromhex(answer.get("request") or "") or None
                return Added(None, answer["number"], created_at, slot, request)
            # The number is taken or the owner is gone: the database was restored to an earlier time.
            self._numbers.forget(owner)
        raise StoreUnavailable("No free number for the job was found; try again.")

    async def _add(
        self, owner: str, row: dict[str, object], connection: object | None, make: Make | None
    ) -> dict[str, Any]:
        if connection is not None:
            return await self._enqueuing.add(connection, row)
        text = orjson.dumps(row).decode()
        return orjson.loads(await (self._database.of(owner).value("add_job", text) if make is None else make(text)))


def _row(caller: Caller, new: NewJob) -> dict[str, object]:
    """What `cronty.add_job` takes."""
    return {
        "owner": caller.owner,
        "name": new.name,
        "task": new.action.task,
        "arguments": orjson.Fragment(new.action.arguments_json()),
        "trigger": to_stored(new.trigger),
        "said": new.said,
        "zone": new.zone,
        "policy": orjson.Fragment(new.policy.dump()),
        "tags": list(new.tags),
        "max_runs": new.max_runs,
        "slots_after": new.slots_after,
        "ends_at": new.ends_at,
        "idempotency_key": new.idempotency_key,
        "request": None if new.request is None else new.request.hex(),
        "unique_key": new.unique_key,
        "now": new.created_at,
        "first_slot": new.first_slot,
        "serial": new.policy.serial,
        **columns_of(new.trigger),
        "origin": new.origin,
        "key_id": caller.key_id,
        "actor": caller.actor(),
        "via": caller.via(),
    }


def made_job(owner: str, new: NewJob, added: Added) -> Job:
    """The job as it has just been stored."""
    assert added.id is not None
    arguments = orjson.loads(new.action.arguments_json())
    return Job(
        id=added.id,
        number=added.number,
        owner=owner,
        name=new.name,
        action=Action(new.action.task, tuple(arguments["args"]), arguments["kwargs"]),
        trigger=new.trigger,
        zone=new.zone,
        policy=new.policy,
        tags=tuple(new.tags),
        max_runs=new.max_runs,
        slots_after=new.slots_after,
        ends_at=new.ends_at,
        state="active",
        reason=None,
        next_slot=new.first_slot,
        held_slot=None,
        last_slot=None,
        last_run=None,
        run_count=0,
        manual_count=0,
        failure_count=0,
        cancelled_count=0,
        failures_in_row=0,
        last_error=None,
        in_flight=0,
        version=1,
        created_at=new.created_at,
        updated_at=new.created_at,
        said=new.said,
        made_by=_agent_of(new.origin),
    )


def columns_of(trigger: Trigger, *, changed: bool = False) -> dict[str, object]:
    """The columns of `due` for a trigger: the period in microseconds; the clock-change policy if it isn't the default.
    If single slots are `changed`, the firing reads the whole trigger, as it does for a calendar.

    `rules` is the digest of the zone's rules in this process, and `tzdata` the version they are from.
    """
    period = expression = zone = gap = overlap = None
    match trigger:
        case Cron(expression, zone, gap, overlap):
            gap, overlap = gap if gap != "run_after" else None, overlap if overlap != "first" else None
        case Calendar(zone=zone):
            expression = "calendar"  # its rules are in the job itself, which the firing reads anyway
        case Interval(lasts, _):
            period = round(lasts.total_seconds() * 1_000_000)
        case Once(zone=zone):
            pass
        case _:  # one that can't be read
            pass
    if changed:
        period, expression, gap, overlap = None, "calendar", None, None
    return {
        "period": period,
        "expression": expression,
        "rule_zone": zone,
        "dst_gap": gap,
        "dst_overlap": overlap,
        "rules": None if zone is None else zone_rules(zone),
        "tzdata": tzdata_version(),
    }


def _agent_of(origin: Mapping[str, object]) -> str | None:
    agent = origin.get("agent")
    return agent if isinstance(agent, str) else None
