"""What must hold, checked after every step: rows that changed against what the tasks really did.

The names of the promises are those in docs/explanation/simulation.md.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, Protocol

from chaos.life.product import LIMITED, NEWER_FIELD, Performed, handle_of
from chaos.life.server import Fields, Monitor
from chaos.life.stage import Stage, Violation
from cronty.jobs.action import PROMPT
from cronty.jobs.backfill import NOT_RUN

FINAL: Final = frozenset({"done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"})
PASSED_OVER: Final = 3
"""So often may younger runs of the same owner be claimed before an older one: it may be locked at the moment."""

_HOLES: Final = (
    "select job_id, scheduled_for from cronty.slots_unaccounted where why like 'its predecessor%' and job_id = any($1)"
)


class Key(NamedTuple):
    """One attempt at a run."""

    job: int
    slot: datetime
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}/{self.slot:%d %H:%M:%S} attempt {self.attempt}"


class Engine(Protocol):
    """What is to be known of the process that performs something."""

    name: str
    lease: float
    beats_begun: int
    beats_heard: int
    forgotten: bool
    """The database has gone back, and knows nothing of its last heartbeat."""

    @property
    def slept_since_beat(self) -> float: ...

    def silent(self) -> float: ...


@dataclass(slots=True)
class Asked:
    """A job as its owner asked for it."""

    owner: str
    name: str
    overlap: str
    starts_at: datetime | None
    id: int = 0
    owner_id: int = 0
    handle: int = 0
    task: str = ""
    gone: bool = False
    """Cancelled or deleted, and answered so."""

    @property
    def serial(self) -> bool:
        return self.overlap != "allow"


@dataclass(slots=True)
class Kept:
    """What the database says; goes back with it when it is restored."""

    jobs: dict[int, Asked] = field(default_factory=dict[int, Asked])
    rows: defaultdict[int, dict[datetime, tuple[datetime, bool]]] = field(default_factory=lambda: defaultdict(dict))
    running: defaultdict[int, dict[datetime, int]] = field(default_factory=lambda: defaultdict(dict))
    """By job and slot: the worker that the run belongs to."""
    queue: dict[tuple[int, str], Fields] = field(default_factory=dict[tuple[int, str], Fields])
    workers: dict[int, datetime] = field(default_factory=dict[int, datetime])
    """Until when their leases last."""
    lost: set[Key] = field(default_factory=set[Key])
    redriven: set[tuple[int, datetime]] = field(default_factory=set[tuple[int, datetime]])
    backfilled: set[int] = field(default_factory=set[int])
    """Jobs of which it was asked to run what they had missed."""


class Truth:
    """`asked` holds jobs by name, before they are asked for: the answer may get lost."""

    def __init__(self, stage: Stage, monitor: Monitor) -> None:
        self.stage = stage
        self._monitor = monitor
        self.asked: dict[str, Asked] = {}
        self.kept = Kept()
        self.performing: dict[Key, Engine] = {}
        self._started: set[Performed] = set()
        self._ended: defaultdict[Key, set[str]] = defaultdict(set)
        self._since: set[Key] = set()
        """Started since the database last went back."""
        self._stops: dict[int, dict[str, int]] = {}
        self._stops_met: dict[tuple[int, datetime], int] = {}
        """By job and slot of a run: the worker that was asked to stop it, and has said that it did."""
        self._passed_over: Counter[tuple[int, str]] = Counter()
        self._left: set[int] = set()
        self._taken_from: dict[tuple[int, datetime], int] = {}

    # -- what doors were told -----------------------------------------------------------------------------------

    def jobs_of(self, owner: str) -> list[Asked]:
        return [job for job in self.kept.jobs.values() if job.owner == owner and not job.gone]

    def cancelled(self, job: Asked, engines: Sequence[Engine]) -> None:
        """It was answered that the job is cancelled; engines hear of it with their next heartbeat."""
        job.gone = True
        self._stops.setdefault(job.id, {engine.name: engine.beats_begun for engine in engines})

    # -- what tasks do ------------------------------------------------------------------------------------------

    def starts(self, engine: Engine, performed: Performed) -> Key:
        job = self.asked[performed.job]
        key = Key(job.id, performed.slot, performed.attempt)
        for other, where in self.performing.items():
            if other.job != job.id:
                continue
            if other.slot == key.slot and where is engine:
                self._report("twice-at-once", f"{engine.name} performs {other} and attempt {key.attempt} at once")
            elif other.slot != key.slot and job.serial and other not in self.kept.lost:
                self._report("overlap", f"{engine.name} starts {key} while {other} runs ({job.overlap})")
        if performed in self._started:
            self._report(
                "unlabelled-repeat", f"{key} of epoch {performed.epoch} starts a second time, in {engine.name}"
            )
        heard = self._stops.get(job.id, {}).get(engine.name)
        if heard is not None and engine.beats_heard > heard:
            self._report("started-after-cancel", f"{key} starts in {engine.name}, which has beaten since the answer")
        if self.kept.running[job.id].get(key.slot) == self._stops_met.get((job.id, key.slot), 0):
            self._report("started-after-cancel", f"{key} starts in {engine.name}, which has said that it was stopped")
        self._started.add(performed)
        if engine.forgotten:
            self.kept.lost.add(key)  # it was claimed in a past that there never was
        else:
            self._since.add(key)
        self.performing[key] = engine
        return key

    def ends(self, key: Key, outcome: str) -> None:
        self.performing.pop(key, None)
        self._ended[key].add(outcome)

    def died(self, engine: Engine) -> None:
        for key in [key for key, where in self.performing.items() if where is engine]:
            del self.performing[key]

    def unrecorded(self, known: set[Key]) -> list[Key]:
        """What was performed and is nowhere in the database."""
        return sorted(self._since - known)

    # -- backups ------------------------------------------------------------------------------------------------

    def copy(self) -> Kept:
        return deepcopy(self.kept)

    def go_back(self, kept: Kept) -> None:
        self.kept = deepcopy(kept)
        for job in self.kept.jobs.values():
            self.asked[job.name] = job
        self.kept.lost |= set(self.performing)
        for key in [key for key in self._ended if key.job not in self.kept.jobs]:
            del self._ended[key]  # the number may be given to another job now
        self._stops.clear()
        self._stops_met.clear()
        self._since.clear()
        self._passed_over.clear()

    # -- what the database says ---------------------------------------------------------------------------------

    async def check(self) -> None:
        changes = await self._monitor.changes()
        touched: set[int] = set()
        unqueued: list[Fields] = []
        met: list[tuple[int, datetime, int]] = []
        for table, old, new in changes:
            self._tell(table, old, new)
            match table:
                case "runs" if new is not None:
                    self._run(old, new)
                    touched.add(new["job_id"])
                case "due" if new is not None:
                    self._due(new)
                    touched.add(new["job_id"])
                case "jobs" if new is not None:
                    self._job(old, new)
                case "attempts" if old is None and new is not None:
                    self._attempt(new)
                case "queue":
                    self._queue(old, new, unqueued)
                case "workers":
                    self._worker(old, new)
                case "stop_requests" if new is None and old is not None:
                    met.append((old["job_id"], datetime.fromisoformat(old["scheduled_for"]), old["worker"]))
                case _:
                    pass
        self._in_order(unqueued)
        for job, slot, worker in met:
            if self.kept.running[job].get(slot) == worker:
                self._stops_met[job, slot] = worker
        if touched:
            for job, slot in await self._monitor.ask(_HOLES, list(touched)):
                self._report("hole", f"job {job}: {slot} is named by its predecessor, has no row and isn't next")

    def _report(self, kind: str, text: str) -> None:
        self.stage.report(Violation(kind, text))

    def _tell(self, table: str, old: Fields | None, new: Fields | None) -> None:
        row = new or old or {}
        if table == "runs":
            states = f"{old['state'] if old else '-'} -> {new['state'] if new else '-'}"
            self.stage.say(f"    run {row['job_id']}/{row['scheduled_for'][8:19]} {states} attempt {row['attempt']}")
        elif table == "due":
            self.stage.say(f"    due {row['job_id']} next {row['next_at']}")

    def _job(self, old: Fields | None, new: Fields) -> None:
        if old is None:
            if (job := self.asked.get(new["name"])) is not None:
                job.id, job.owner_id, job.handle, job.task = new["id"], new["owner_id"], handle_of(new), new["task"]
                self.kept.jobs[job.id] = job
            return
        if old["trigger"] != new["trigger"] and new["id"] in self.kept.jobs:
            self.kept.jobs[new["id"]].starts_at = None
        if new["state"] == "set_aside" and old["state"] != "set_aside":
            self._report("set-aside", f"job {new['id']}: {new['reason']}")
        if any(key in old["policy"] and key not in new["policy"] for key in _NEWER_KEYS):
            self._report("field-lost", f"job {new['id']} had {old['policy']} and has {new['policy']}")

    def _due(self, new: Fields) -> None:
        job = self.kept.jobs.get(new["job_id"])
        at = when(new["next_at"])
        slot = at - timedelta(seconds=new["delay"]) if at else when(new["held_slot"])
        if job is not None and slot is not None and job.starts_at is not None and slot < job.starts_at:
            self._report("before-start", f"job {job.id} is to fire at {slot}, but starts at {job.starts_at}")

    def _worker(self, old: Fields | None, new: Fields | None) -> None:
        if new is not None:
            self.kept.workers[new["id"]] = datetime.fromisoformat(new["lease_until"])
        elif old is not None:
            self.kept.workers.pop(old["id"], None)
            if datetime.fromisoformat(old["lease_until"]) >= self.stage.now():
                self._left.add(old["id"])

    def _attempt(self, new: Fields) -> None:
        """A run taken from an engine that still performs it, though its last heartbeat is younger than a lease."""
        if new["outcome"] != "lost":
            return
        key = Key(new["job_id"], datetime.fromisoformat(new["scheduled_for"]), new["attempt"])
        engine = self.performing.get(key)
        worker = self.kept.running[key.job].get(key.slot, 0) or self._taken_from.get((key.job, key.slot), 0)
        lease = self.kept.workers.get(worker)
        if engine is None and new["worker"] is None and lease is not None and lease > self.stage.now():
            self._report("robbed-listed", f"{key} is taken from worker {worker}, whose lease lasts until {lease}")
        if engine is not None and key not in self.kept.lost and engine.silent() < engine.lease:
            how = "handed-back" if new["worker"] is not None else self._how_robbed(engine, worker)
            said = f"{key} is taken from {engine.name}, which beat {engine.silent():.0f} s ago and performs it"
            self._report(f"robbed-{how}", f"{said} ({new['error']})")
        self.kept.lost.add(key)

    def _how_robbed(self, engine: Engine, worker: int) -> Literal["listed", "asleep", "left", "renamed"]:
        if worker in self.kept.workers:
            return "listed"
        if engine.slept_since_beat:
            return "asleep"
        return "left" if worker in self._left else "renamed"

    def _queue(self, old: Fields | None, new: Fields | None, unqueued: list[Fields]) -> None:
        if new is not None:
            self.kept.queue[new["job_id"], new["scheduled_for"]] = new
        elif old is not None:
            self.kept.queue.pop((old["job_id"], old["scheduled_for"]), None)
            self._passed_over.pop((old["job_id"], old["scheduled_for"]), None)
            unqueued.append(old)

    def _in_order(self, unqueued: list[Fields]) -> None:
        """Of an owner's runs, what has waited longest is claimed first. A prompt waits for an agent; none is here. What
        is under a limit waits for that, and is claimed apart from the rest."""
        margin = timedelta(seconds=10 * self.stage.scale)
        claimed = [
            (when(one["due_at"]), one["crashes"], one["owner_id"]) for one in unqueued
            if one["task"] not in LIMITED
            and one["due_at"] and datetime.fromisoformat(one["scheduled_for"]) in self.kept.running[one["job_id"]]
        ]  # fmt: skip
        for place, other in self.kept.queue.items() if claimed else ():
            if other["task"] == PROMPT or other["task"] in LIMITED:
                continue
            due, alike = when(other["due_at"]), (other["crashes"], other["owner_id"])
            if due and any(at and tuple(kind) == alike and due + margin < at for at, *kind in claimed):
                self._passed_over[place] += 1
                if self._passed_over[place] > PASSED_OVER:
                    self._report("starved", f"{place} ({other['task']}) is due since {due} and was passed over again")

    def _run(self, old: Fields | None, new: Fields) -> None:
        slot = datetime.fromisoformat(new["scheduled_for"])
        key = Key(new["job_id"], slot, new["attempt"])
        if key.job not in self.kept.jobs:  # made by Cronty itself, as an alert
            return
        if old is None:
            self._first_row(key, new)
        elif old["state"] in FINAL and new["state"] != old["state"]:
            again = old["state"] in ("failed", "quarantined") and (key.job, slot) in self.kept.redriven
            later = old["state"] in NOT_RUN and key.job in self.kept.backfilled and new["slots"] == 1
            if new["state"] != "waiting" or not (again or later):
                self._report("outcome-changed", f"{key} was {old['state']}, is {new['state']}")
        if old is not None and old["through"] != new["through"]:  # split, and its other parts are inserted
            self.kept.rows[key.job][slot] = (when(new["through"]) or slot, new["manual"])
        if old is not None and old["attempt"] > new["attempt"]:
            self._report("attempt-went-back", f"{key} was attempt {old['attempt']}")
        self._who_runs(key, new)
        if old is not None and old["state"] != new["state"] and new["state"] in ("done", "failed"):
            truly = self._ended[key]
            if {"done": "ok", "failed": "failed"}[new["state"]] not in truly:
                said = f"{key} is recorded as {new['state']} ({new['error']}); in truth it is {', '.join(truly)}"
                self._report("untrue", said)

    def _first_row(self, key: Key, new: Fields) -> None:
        slot, through = key.slot, when(new["through"]) or key.slot
        job, rows = self.kept.jobs[key.job], self.kept.rows[key.job]
        if not new["manual"]:
            for first, (last, manual) in rows.items():
                if not manual and first <= through and slot <= last:
                    self._report(
                        "two-verdicts", f"{key}, {new['state']}, through {through}: there is {first} .. {last}"
                    )
            if job.starts_at is not None and slot < job.starts_at:
                self._report("before-start", f"{key} though it starts at {job.starts_at}")
            if slot > self.stage.now():
                self._report("early", f"{key} is {new['state']} at {self.stage.now()}")
        rows[slot] = (through, new["manual"])

    def _who_runs(self, key: Key, new: Fields) -> None:
        running = self.kept.running[key.job]
        before = running.pop(key.slot, None)
        self._stops_met.pop((key.job, key.slot), None)
        if before is not None:
            self._taken_from[key.job, key.slot] = before
        if new["state"] == "running":
            running[key.slot] = new["worker"]
            if self.kept.jobs[key.job].serial and len(running) > 1:
                slots = ", ".join(f"{slot:%d %H:%M:%S}" for slot in sorted(running))
                self._report("overlap", f"job {key.job} ({self.kept.jobs[key.job].overlap}) runs {slots} at once")
            self._within_limit(self.kept.jobs[key.job].task)

    def _within_limit(self, task: str) -> None:
        if (most := LIMITED.get(task)) is None:
            return
        under_way = [id for id, job in self.kept.jobs.items() if job.task == task for _ in self.kept.running[id]]
        if len(under_way) > most:
            self._report("over-limit", f"{task}: {len(under_way)} under way, of jobs {under_way}")


_NEWER_KEYS: Final = [NEWER_FIELD.split('"')[1]]


def when(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
