"""What a database of a given size holds, as rows in the binary format of COPY: pure, and the same every time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from math import gcd
from struct import Struct
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from bench.fires import BASE

RECIPE: Final = 1
"""Rises when the rows change: a database that was kept from before is then filled anew."""

WEEKS: Final = 12
START: Final = BASE - timedelta(weeks=WEEKS)
"""History goes from here to BASE; every job's next slot lies in the day after BASE, none in its first minutes."""

QUIET: Final = timedelta(minutes=10)
ZONES: Final = (
    "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Australia/Sydney", "America/Sao_Paulo",
    "Europe/London", "UTC",
)  # fmt: skip
SMALL: Final = "small"
HUGE: Final = "huge"
SMALL_JOBS: Final = 10
_STEP: Final = 1024  # between two ids: the last ten bits are the server's number
_PER_OWNER: Final = 200
_DAY: Final = 86_400_000_000
_DAYS: Final = 7 * WEEKS
_PRIME: Final = 1_000_003


def micros(moment: datetime) -> int:
    """As PostgreSQL counts them."""
    return (moment - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


_BASE: Final = micros(BASE)
_START: Final = micros(START)


class Place(NamedTuple):
    """Whose job it is, counted from 0, and the owner's number for it."""

    owner: int
    number: int


class Rule(NamedTuple):
    """When a job fires next, and the rule for that, as `due` and `jobs` keep it."""

    next_at: int | None
    trigger: bytes
    period: int | None
    expression: bytes | None
    zone: bytes | None

    @property
    def ended(self) -> bool:
        return self.next_at is None

    @property
    def manual(self) -> bool:
        """Whether its runs were asked for: those of a one-off whose time has yet to come."""
        return self.period is None and self.expression is None and not self.ended


class Recipe:
    """`jobs` jobs, counted from 0 in the order in which they were made, and about twice as many runs.

    One owner has 100,000 jobs (a tenth of all, if that is less), three have a tenth of that, `small` has ten, which are
    the same at every size, and the others have 200 each. Half of the jobs are cron, 30 % interval, 20 % once, a quarter
    of which has ended. Every job had two runs, six weeks apart; one that has ended had the first, and those of `small`
    had one a day.
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1000:
            raise ValueError(f"{jobs} jobs are too few; fill at least 1000.")
        self.jobs = jobs
        self._huge = -(-jobs // min(jobs // 10, 100_000))  # every so many-th job is of the huge owner
        self._large = 10 * self._huge
        self._small = self._large * (jobs // (SMALL_JOBS * self._large))
        self._others = max(1, jobs // _PER_OWNER)
        self._pace = _DAYS * _DAY // (2 * jobs)
        self._stride = next(step for step in range(_PRIME, _PRIME + jobs) if gcd(step, jobs) == 1)
        self._back = pow(self._stride, -1, jobs)
        self.counts = [0] * (5 + self._others)

    @property
    def runs(self) -> int:
        """About how many."""
        return 2 * self.jobs

    def id_of(self, job: int) -> int:
        return (job + 1) * _STEP

    def owner_id(self, owner: int) -> int:
        return (owner + 1) * _STEP

    def owner_names(self) -> list[str]:
        named = [SMALL, HUGE, "large 1", "large 2", "large 3"]
        return named + [f"owner {i}" for i in range(1, self._others + 1)]

    def small_job(self, number: int) -> int:
        """The job that `small` calls by this number."""
        return (number - 1) * self._small + 5

    def place(self, job: int) -> Place:
        in_huge, rest = job % self._huge, job % self._large
        if not in_huge:
            return Place(1, job // self._huge + 1)
        if rest <= 3:
            return Place(1 + rest, job // self._large + 1)
        smalls = min(SMALL_JOBS, max(0, (job - 5 + self._small) // self._small))
        if rest == 5 and smalls and job == self.small_job(smalls):
            return Place(0, smalls)
        hundreds = job // self._large
        before = job - job // self._huge - 1 - 3 * hundreds - min(3, rest) - smalls
        return Place(5 + before % self._others, before // self._others + 1)

    def rule(self, job: int, place: Place) -> Rule:
        """Those of `small` are the same at every size."""
        if place.owner == 0:
            return _rule(_mixed(place.number), kind=place.number - 1, ended=False)
        mixed = _mixed(job)
        return _rule(mixed, kind=mixed % 10, ended=_kind_of(mixed)[1])

    def history(self, job: int, place: Place, rule: Rule) -> list[int]:
        """The slots that had a run, oldest first."""
        if place.owner == 0:
            return [_small_slot(rule, day) for day in range(_DAYS)]
        first = _START + job * self._back % self.jobs * self._pace
        return [first] if rule.ended else [first, first + self.jobs * self._pace]

    # -- rows ---------------------------------------------------------------------------------------------------

    def job_rows(self) -> Iterator[bytes]:
        """Counts each owner's jobs on the way."""
        for job in range(self.jobs):
            place = self.place(job)
            self.counts[place.owner] += 1
            number, rule = job + 1, self.rule(job, place)
            yield b"".join((
                _JOB.pack(15, 8, self.id_of(job), 8, self.owner_id(place.owner), 8, place.number, 8, _START + job),
                _text(b"job number %d" % number), _text(_ARGUMENTS % (number, number, number)), _text(rule.trigger),
                _text(rule.zone or b"UTC"), _FAILING if number % 333 == 0 else _FINE,
            ))  # fmt: skip

    def due_rows(self) -> Iterator[bytes]:
        for job in range(self.jobs):
            place = self.place(job)
            rule = self.rule(job, place)
            slots = self.history(job, place, rule)
            asked = len(slots) if rule.manual else 0
            yield b"".join((
                _DUE.pack(11, 8, self.id_of(job), 8, self.owner_id(place.owner), 8, slots[-1], 8, slots[-1],
                    4, len(slots), 4, asked, 1, True),
                _long(rule.next_at), _long(rule.period), _text(rule.expression), _text(rule.zone),
            ))  # fmt: skip

    def run_rows(self, since: datetime, until: datetime) -> Iterator[bytes]:
        """The runs from `since` up to `until`, in the order of time."""
        few = self._runs_of_small(micros(since), micros(until))
        ends = [micros(since), *(slot for slot, _ in few), micros(until)]
        for place, (begin, end) in enumerate(pairwise(ends)):
            if place:
                yield few[place - 1][1]
            yield from self._runs_of_others(begin, end)

    def _runs_of_small(self, since: int, until: int) -> list[tuple[int, bytes]]:
        rows: list[tuple[int, bytes]] = []
        for number in range(1, SMALL_JOBS + 1):
            job, place = self.small_job(number), Place(0, number)
            rule = self.rule(job, place)
            for day, slot in enumerate(self.history(job, place, rule)):
                if since <= slot < until:
                    verdict = _VERDICTS[(11 * day + number) % len(_VERDICTS)]
                    following = None if rule.manual else slot + _DAY
                    rows.append((slot, _run(self.id_of(job), _STEP, slot, following, verdict, rule.manual)))
        return sorted(rows)

    def _runs_of_others(self, since: int, until: int) -> Iterator[bytes]:
        first, end = (-((_START - moment) // self._pace) for moment in (since, until))
        for turn in range(max(0, first), min(end, 2 * self.jobs)):
            job = turn * self._stride % self.jobs
            place = self.place(job)
            mixed = _mixed(job)
            once, ended = _kind_of(mixed)
            if place.owner == 0 or (ended and turn >= self.jobs):
                continue
            slot = _START + turn * self._pace
            following = None if once or turn >= self.jobs else slot + self.jobs * self._pace
            verdict = "done" if ended else _VERDICTS[_mixed(turn) % len(_VERDICTS)]
            owner = self.owner_id(place.owner)
            yield _run(self.id_of(job), owner, slot, following, verdict, once and not ended)


JOB_COLUMNS: Final = (
    "id", "owner_id", "number", "created_at", "name", "arguments", "trigger", "zone", "task", "policy", "tags",
    "slots_after", "updated_at", "failures_in_row", "last_error",
)  # fmt: skip
DUE_COLUMNS: Final = (
    "job_id", "owner_id", "last_slot", "last_run", "run_count", "manual_count", "serial", "next_at", "period",
    "expression", "zone",
)  # fmt: skip
RUN_COLUMNS: Final = (
    "job_id", "owner_id", "scheduled_for", "followed_by", "started_at", "finished_at", "state", "attempt", "manual",
    "reason", "error",
)  # fmt: skip

HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER: Final = b"\xff\xff"

_ARGUMENTS: Final = (
    b'\x01{"args": [], "kwargs": {"to": "user-%d@example.org", "subject": "reminder %d", "text": "'
    + b"water the plants " * 5
    + b'", "n": %d}}'
)
_JOB: Final = Struct(">hiqiqiqiq")
_DUE: Final = Struct(">hiqiqiqiqiiiii?")
_RUN: Final = Struct(">hiqiqiq")
_SIZE: Final = Struct(">i")
_LONG: Final = Struct(">iq")
_TWO: Final = Struct(">iqiq")
_NULL: Final = _SIZE.pack(-1)


def _long(value: int | None) -> bytes:
    return _NULL if value is None else _LONG.pack(8, value)


def _text(value: bytes | None) -> bytes:
    return _NULL if value is None else _SIZE.pack(len(value)) + value


def _small_slot(rule: Rule, day: int) -> int:
    assert rule.next_at is not None
    return rule.next_at - (_DAYS - day) * _DAY


_NO_TAGS: Final = Struct(">iii").pack(0, 0, 25)
_SAME: Final = b"".join((
    _text(b"noop"), _text(b'\x01{"attempts": 3, "timeout": 30}'), _text(_NO_TAGS), _long(_BASE), _long(_BASE),
))  # fmt: skip
_FINE: Final = _SAME + _SIZE.pack(4) + _SIZE.pack(0) + _NULL
_FAILING: Final = _SAME + _SIZE.pack(4) + _SIZE.pack(1) + _text(b"the other side hung up")

_VERDICTS: Final = ("done",) * 44 + ("failed", "failed", "skipped", "coalesced", "missed", "cancelled")
_EXECUTED: Final = frozenset({"done", "failed"})


@cache
def _verdict(verdict: str, manual: bool) -> bytes:
    executed = verdict in _EXECUTED
    return b"".join((
        _text(verdict.encode()), _SIZE.pack(4), _SIZE.pack(executed), _SIZE.pack(1), bytes([manual]),
        _text(None if executed else b"the one before was still running"),
        _text(b"the other side hung up" if verdict == "failed" else None),
    ))  # fmt: skip


def _run(job: int, owner: int, slot: int, following: int | None, verdict: str, manual: bool) -> bytes:
    times = _TWO.pack(8, slot + 30_000, 8, slot + 80_000) if verdict in _EXECUTED else _NULL + _LONG.pack(8, slot)
    return _RUN.pack(11, 8, job, 8, owner, 8, slot) + _long(following) + times + _verdict(verdict, manual)


# -- rules ------------------------------------------------------------------------------------------------------


def _mixed(number: int) -> int:
    return ((number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 20


def _kind_of(mixed: int) -> tuple[bool, bool]:
    """Whether such a job is a one-off, and whether that is over."""
    once = mixed % 10 >= 8
    return once, once and mixed >> 8 & 3 == 0


def _rule(mixed: int, kind: int, ended: bool) -> Rule:
    """Half of the kinds are cron, three are interval, two are once; the slot is in the day after BASE."""
    if kind < 5:
        return _cron(10 + (mixed >> 10) % 1430, (mixed >> 4) % len(ZONES), (mixed >> 7) % 10)
    offset = 600_000_000 + (mixed >> 2) % (_DAY - 600_000_000)
    at = _AT % (offset // 3_600_000_000, offset // 60_000_000 % 60, offset // 1_000_000 % 60, offset % 1_000_000)
    if kind >= 8:
        return Rule(None if ended else _BASE + offset, b'\x01{"kind": "once", "at": "%s"}' % at, None, None, None)
    seconds = 72_000 + (mixed >> 5) % 28_800
    trigger = b'\x01{"kind": "interval", "seconds": %d, "anchor": "%s"}' % (seconds, at)
    return Rule(_BASE + offset, trigger, seconds * 1_000_000, None, None)


_AT: Final = f"{BASE:%Y-%m-%d}T%02d:%02d:%02d.%06d+00:00".encode()


@cache
def _cron(minute: int, zone: int, pattern: int) -> Rule:
    """The rule of a job that fires so many minutes after BASE, on several kinds of days."""
    moment = BASE + timedelta(minutes=minute)
    local = moment.astimezone(ZoneInfo(ZONES[zone]))
    weekday, odd = local.isoweekday() % 7, local.day % 2
    days = {
        0: "* * 1-5" if 1 <= weekday <= 5 else "* * 0,6",
        1: "* * 1-6" if weekday else "* * 0-5",
        2: "*/2 * *" if odd else "2-30/2 * *",
        3: "* * 1,3,5,6" if weekday in (1, 3, 5, 6) else "* * 0,2,4",
    }.get(pattern, "* * *")
    expression = f"{local.minute} {local.hour} {days}".encode()
    named = ZONES[zone].encode()
    trigger = b'\x01{"kind": "cron", "expression": "%s", "zone": "%s"}' % (expression, named)
    return Rule(micros(moment), trigger, None, expression, named)
