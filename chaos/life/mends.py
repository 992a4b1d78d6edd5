"""Mends that can be taken out again, to prove that the simulation would find what they mend.

Each entry puts back what the code did before. `python -m chaos life --without-mend C6 --seeds 1-20` must find it.
"""

# pyright: reportPrivateUsage=false

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from chaos.life.actors import ACTOR
from cronty.actions.tasks import CurrentRun
from cronty.engine import working
from cronty.engine.attempt import Attempt
from cronty.engine.lease import Lease
from cronty.engine.retiming import Retiming
from cronty.engine.settling import Settling
from cronty.engine.working import Working
from cronty.jobs import policy
from cronty.jobs.outcome import Cancelled, Failed
from cronty.jobs.policy import Policy
from cronty.store import database, faults
from cronty.store.database import Connection, StoreUnavailable
from cronty.store.engine_store import EngineStore, Rescued
from cronty.store.history_store import HistoryStore
from cronty.timing import tzdata_version

type Edits = Sequence[tuple[str, str]]
"""What a statement says now, and what it said before. An edit that no longer fits is an error."""


@dataclass(frozen=True, slots=True)
class Mend:
    """`found_as` are the promises that break without it; `methods`, `queries` and `schema` are what there was before.

    Where another mend has since made a fault harmless, that one is taken out as well.
    """

    says: str
    found_as: tuple[str, ...]
    methods: Sequence[tuple[Any, str, object]] = ()
    queries: Mapping[str, Edits] = field(default_factory=dict[str, Edits])
    schema: str = ""


async def _overwrite_outcome(self: Settling, attempt: Attempt) -> None:
    try:
        await self._settle(attempt.worker, [attempt])
    except StoreUnavailable:
        raise
    except Exception as error:
        attempt.outcome = Failed(f"Its outcome could not be written: {type(error).__name__}", permanent=True)
        await self._settle(attempt.worker, [attempt])
    self._written([attempt])


async def _drop_without_a_limit(self: HistoryStore, keep: float) -> bool:
    return bool(await self._database.value("drop_partition", self._database.moment(), keep, keep, "0"))


def _refuse_unknown_fields(stored: str) -> Policy:
    return Policy(**orjson.loads(stored))


async def _judge_at_once(self: Lease) -> datetime:
    return await self._store.now()


async def _forget_stops_at_once(self: Lease, worker: int) -> None:
    asked = await self._store.list_stops(worker)
    reasons = {(job_id, slot): reason for job_id, slot, reason, _ in asked}
    for attempt in list(self._working._performing):
        if reason := reasons.get((attempt.job_id, attempt.slot)):
            self._working._abandon(attempt, Cancelled(reason))
    if asked:
        await self._store.forget_stops(worker, list(reasons))


async def _clear_up_current_name(self: Lease) -> float:
    async with self._one_at_a_time:
        if self.worker in self._in_doubt or not await self._renew(self.worker):
            await self._register()
        for worker in list(self._in_doubt):
            if not self._claims[worker]:
                await self._clear_up(worker)
    return self._lasts / 3


def _always(self: Lease, worker: int) -> bool:
    return True


async def _beat_beside_others(self: Lease) -> float:
    if self.worker in self._in_doubt or not await self._renew(self.worker):
        await self._register()
    for worker in self._in_doubt - {self.worker}:
        if not self._claims[worker]:
            await self._clear_up(worker)
    return self._lasts / 3


def _forget_the_epoch(attempt: Attempt) -> CurrentRun:
    return CurrentRun(attempt.owner_id, attempt.job_id, attempt.job_number, attempt.slot, attempt.number)


async def _never_look(self: Lease) -> None: ...


def _start_anyway(older: Attempt, attempt: Attempt) -> bool:
    return False


_start: Final = Working._start_coroutines


def _start_past_the_lease(self: Working) -> None:
    self.still_ours = lambda _worker: True
    _start(self)


def _stop_what_is_known(self: Working, worker: int, runs: Mapping[tuple[int, datetime], str]) -> None:
    for attempt in self.known():
        if attempt.worker == worker and (reason := runs.get((attempt.job_id, attempt.slot))) is not None:
            self._abandon(attempt, Cancelled(reason))


_look: Final = Retiming.look


async def _note_tzdata(self: Retiming) -> dict[str, str]:
    async def note(connection: Connection) -> None:
        await connection.execute(
            "insert into cronty.tzdata (version) values ($1) on conflict (version) do update set version = $1",
            tzdata_version(),
        )

    await self._store._database.for_the_operator().together(note)
    return await _look(self)


async def _strike_off_then_rescue(self: EngineStore, worker: int, as_of: datetime, max_crashes: int) -> Rescued:
    struck = await self._database.value("strike_off", worker, as_of)
    with _patiently():
        return Rescued(0, 0, 0, []) if struck is None else await self.rescue([worker], max_crashes)


@contextmanager
def _patiently() -> Generator[None]:
    """As when statements could wait for a lock as long as they liked."""
    if (actor := ACTOR.get()) is not None:
        actor.patient = True
    try:
        yield
    finally:
        if actor is not None:
            actor.patient = False


_LOST: Final = ("08", "57P")
_RESCUE_UNLISTED: Final = [(EngineStore, "strike_off", _strike_off_then_rescue)]
_ENDLESS_PATIENCE: Final = [
    (database, "HOT_PATH", {**database.HOT_PATH, "lock_timeout": "10s"}),
    (database, "AT_THE_DOOR", {"lock_timeout": database.AT_THE_DOOR["lock_timeout"]}),
]

_BEFORE_ITS_START: Final = [
    ("greatest(j.slots_after, d.last_slot, d.last_through)", "greatest(d.last_slot, j.updated_at)"),
    ("select trigger, ends_at, slots_after from", "select trigger, ends_at, updated_at from"),
]
_KEPT_BY_LIVE_WORKERS: Final = "w.lease_until >= coalesce($1::timestamptz, statement_timestamp())\n  ) as kept"
_OF_GONE_WORKERS: Final = [(
    "r.worker = any($3::bigint[])",
    "$3::bigint[] is not null and not exists (select from cronty.workers w where w.id = r.worker)",
)]  # fmt: skip
_FIRST_DUE: Final = "  order by q.due_at\n  limit 2 * $5::int\n"
_IN_THE_QUEUE: Final = """left join lateral (
  select q.scheduled_for from cronty.queue q where p.serial and q.job_id = p.job_id order by q.scheduled_for limit 1
) q on true"""

MENDS: Final[Mapping[str, Mend]] = {
    "C1": Mend(
        "looking at zones uses up no numbers", ("runs-out",), [(Retiming, "look", _note_tzdata)], {},
        "create table cronty.tzdata (id smallint generated always as identity, version text unique)",
    ),
    "C2": Mend(
        "only what can't be stored changes an outcome", ("untrue",),
        [(Settling, "_settle_one", _overwrite_outcome), (faults, "_AWAY", _LOST)],
    ),
    "C3": Mend(
        "a zone's new rules move nothing before its start", ("before-start",), (), {"retime_pick": _BEFORE_ITS_START}
    ),
    "C4": Mend(
        "a zone goes by the rules of living workers", ("overdue",), (),
        {"zones_in_use": [(_KEPT_BY_LIVE_WORKERS, "$1::timestamptz is null) or true as kept")]},
    ),
    "C5": Mend(
        "dropping history gives way to readers", ("ddl-waits",),
        [(HistoryStore, "drop_partition", _drop_without_a_limit)],
    ),
    "C6": Mend(
        "unknown policy fields are ignored", ("unexpected-TypeError", "set-aside", "overdue"),
        [(policy, "load_policy", _refuse_unknown_fields)],
    ),
    "H1": Mend(
        "an engine that was away waits a lease before striking off others", ("robbed-asleep",),
        [(Lease, "may_strike_off", _judge_at_once)],
    ),
    "H2": Mend(
        "only the runs of workers known to be gone are rescued", ("robbed-listed",),
        _RESCUE_UNLISTED, {"rescue": _OF_GONE_WORKERS},
    ),
    "H3": Mend(
        "what is in line is stopped too", ("started-after-cancel",),
        [(Lease, "_stop_what_is_asked", _forget_stops_at_once)],
    ),
    "H5": Mend(
        "a fire never waits for a door", ("held-up",), _ENDLESS_PATIENCE, {},
        "create function life.take_head() returns trigger language plpgsql as"
        " 'begin perform pg_advisory_xact_lock(new.owner_id); return new; end';"
        "create trigger take_head before insert on cronty.audit_unsealed"
        " for each row execute function life.take_head()",
    ),
    "H4": Mend(
        "the queue goes by time, not by task", ("starved",), (),
        {"claim_runs": [(_FIRST_DUE, "  limit 2 * $5::int\n")]},
    ),
    "N1": Mend(
        "a name in doubt is never the current one", ("robbed-left",),
        [(Lease, "beat", _clear_up_current_name), (Lease, "holds", _always), *_RESCUE_UNLISTED],
        {"rescue": _OF_GONE_WORKERS},
    ),
    "N2": Mend("one new name is taken, not two", ("robbed-renamed",), [(Lease, "beat", _beat_beside_others)]),
    "N3": Mend(
        "what is in flight is looked for among all runs", ("overlap",), (),
        {
            "pick_due": [(_IN_THE_QUEUE, ""), ("coalesce(r.scheduled_for, q.scheduled_for)", "r.scheduled_for")],
            "run_now": [("case when d.serial then d.last_run else $2 end", "$2")],
        },
    ),
    "N5": Mend(
        "a task is told the epoch of its run", ("unlabelled-repeat",), [(working, "current_run_of", _forget_the_epoch)]
    ),
    "N6": Mend(
        "a run whose settlement a restore lost is handed back", ("stuck",), [(Lease, "_look_at_runs", _never_look)]
    ),
    "N7": Mend(
        "a run that is under way isn't started again after a restore", ("twice-at-once",),
        [(working, "_conflict", _start_anyway)],
    ),
    "N8": Mend(
        "what is in line isn't started once the lease has passed", ("overlap",),
        [(Working, "_start_coroutines", _start_past_the_lease)],
    ),
    "N9": Mend(
        "what is stopped before the answer to its claim comes is never started", ("started-after-cancel",),
        [(Working, "stop", _stop_what_is_known)],
    ),
}  # fmt: skip


def unmended(text: str, edits: Edits) -> str:
    """The statement as it was."""
    for now, before in edits:
        if text.count(now) != 1:
            raise ValueError(f"A mend doesn't fit its statement any more: {now!r} isn't in it once:\n{text}")
        text = text.replace(now, before)
    return text


@contextmanager
def taken_out(name: str | None) -> Generator[None]:
    """Cronty without one of its mends, for as long as the block lasts."""
    mend = MENDS[name] if name is not None else Mend("nothing", ())
    real, replaced = database.query, list[tuple[Any, str, object]]()

    def query(wanted: str) -> str:
        return unmended(real(wanted), mend.queries.get(wanted, ()))

    def put(where: Any, attribute: str, value: object) -> None:
        replaced.append((where, attribute, getattr(where, attribute)))
        setattr(where, attribute, value)

    for where, attribute, value in mend.methods:
        put(where, attribute, value)
    if mend.queries:
        for module in [one for name, one in sys.modules.items() if name.startswith("cronty.store.")]:
            if vars(module).get("query") is real:
                put(module, "query", query)
    try:
        yield
    finally:
        for where, attribute, value in reversed(replaced):
            setattr(where, attribute, value)
