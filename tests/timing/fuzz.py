"""Whatever is given to a parser is read, or refused with a sentence; quickly, and without a trace.

`python -m tests.timing.fuzz 1000000` gives that many inputs to each of them, `… 1000000 words cron` to these two,
`… 1000000 --seed 2` others than before.
Times are processor time of the thread, so that a busy machine doesn't count; the garbage collector waits meanwhile.
What seems to take longest is measured twice more, with all caches empty, and the shortest time counts.
"""

import argparse
import gc
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, thread_time

from cronty.jobs.ids import read_job_id
from cronty.jobs.policy import BadPolicy, make_policy
from cronty.timing import (
    Ambiguous,
    BadTrigger,
    Broken,
    Cron,
    Reading,
    Trigger,
    describe,
    from_json,
    from_stored,
    preview,
    read_rrule,
    read_words,
    to_json,
    zone,
)
from cronty.timing.calendar import _kept_days as _compiled_days  # pyright: ignore[reportPrivateUsage]
from cronty.timing.calendar import _kept_slots as _compiled_calendar  # pyright: ignore[reportPrivateUsage]
from cronty.timing.cron import _compiled, _wallclock  # pyright: ignore[reportPrivateUsage]
from cronty.timing.ics_in import read_ics
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.offsets import _stretches  # pyright: ignore[reportPrivateUsage]
from cronty.timing.reading import read_moment, read_trigger
from cronty.timing.rule import read_bound
from cronty.timing.words.amounts import amount
from cronty.timing.words.engine import Unreadable
from cronty.timing.words.places import zones_of
from cronty.timing.words.spellings import spelled_out
from cronty.timing.words.tokens import LONGEST, grammar, lowered, tidy
from tests.timing.fuzz_inputs import (
    calendar_object,
    config,
    cron_text,
    duration_text,
    ics_text,
    id_value,
    json_object,
    moment_value,
    policy_values,
    rrule_text,
    texts,
    zone_text,
)
from tests.timing.phrases import same
from tests.timing.strategies import ZONES

START = datetime(2027, 3, 10, 19, tzinfo=UTC)
SLOW = 0.010
COLLECT_EVERY = 20_000


@dataclass(slots=True)
class Seen:
    """What came of it."""

    parser: str
    inputs: int = 0
    accepted: int = 0
    worst: float = 0.0
    worst_input: str = ""
    slow: int = 0
    wrong: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Parser:
    """What is asked, with which inputs, and what must hold for an answer."""

    inputs: Callable[[random.Random], Iterator[object]]
    parse: Callable[[object, datetime, str], object]
    check: Callable[[object, object, datetime, str], None] | None = None


def each(make: Callable[[random.Random], object]) -> Callable[[random.Random], Iterator[object]]:
    def inputs(chance: random.Random) -> Iterator[object]:
        while True:
            yield make(chance)

    return inputs


def check_reading(text: object, found: object, now: datetime, _zone: str) -> None:
    """Every reading is to come, and its words read the same."""
    assert isinstance(found, Reading | Ambiguous)
    readings = found.readings if isinstance(found, Ambiguous) else (found,)
    # One reading is to be confirmed if its note says why: the time was soft, or the date has passed if read the other
    # way; or if nothing is left of the other side of an "or".
    why = any(said in f"{each.note}" for each in readings for said in ("no exact time", "it has passed"))
    assert isinstance(found, Reading) or len(readings) > 1 or why or "or" in str(text).lower()
    for reading in readings:
        assert reading.next_at is not None
        assert reading.next_at > now
        # A cron in its own spelling is said in the grammar's: that is for test_describe.
        trigger = reading.trigger
        if len(reading.words) <= LONGEST and not (isinstance(trigger, Cron) and is_cron_text(str(text), trigger)):
            again = read_words(reading.words, now, "Asia/Tokyo")
            assert isinstance(again, Reading), reading
            assert same(again.trigger, reading.trigger), reading


def is_cron_text(text: str, cron: Cron) -> bool:
    fields = text.replace("cron:", "").split()
    if set(cron.expression.split()) <= set(fields):
        return True
    return "*" in text or "@" in text or (len(fields) >= 5 and fields[0][:1].isdigit() and fields[1][:1].isdigit())


def check_trigger(_input: object, found: object, now: datetime, zone_name: str) -> None:
    """What was accepted can be stored, described and looked at."""
    trigger: Trigger = found  # pyright: ignore[reportAssignmentType]
    if not isinstance(trigger, Broken):
        assert from_json(json.loads(json.dumps(to_json(trigger)))) == trigger
    assert describe(trigger, zone_name)
    for slot in preview(trigger, now, 2, zone_name):
        assert slot.utc > now
        assert trigger.count(slot.utc, slot.utc) == 1


def check_moment(_input: object, found: object, _now: datetime, zone_name: str) -> None:
    assert isinstance(found, datetime)
    assert found.utcoffset() == timedelta(0)
    found.astimezone(zone(zone_name))


def check_days_off(_input: object, found: object, _now: datetime, _zone: str) -> None:
    assert isinstance(found, NamedCalendar)
    assert found.off
    assert all(reason.isprintable() for reason in found.off.values())


def read_amount(text: object) -> object:
    page = grammar()
    try:
        return amount(page.parse("amount", page.tokens(lowered(tidy(str(text))))))
    except Unreadable:
        return None


PARSERS: dict[str, Parser] = {
    "words": Parser(texts, lambda text, now, here: read_words(str(text), now, here), check_reading),
    "cron": Parser(each(cron_text), lambda text, _now, here: Cron(str(text), here), check_trigger),
    "zone": Parser(each(zone_text), lambda text, _now, _here: zone(str(text))),
    "moment": Parser(each(moment_value), lambda value, _now, here: read_moment(value, here), check_moment),
    "trigger": Parser(
        each(config),
        lambda value, now, here: read_trigger(value[0], value[1], here, now),  # pyright: ignore
        check_trigger,
    ),
    "json": Parser(each(json_object), lambda value, _now, _here: from_json(value), check_trigger),  # pyright: ignore
    "stored": Parser(each(json_object), lambda value, _now, _here: from_stored(value), check_trigger),  # pyright: ignore
    "calendar": Parser(each(calendar_object), lambda value, _now, _here: from_json(value), check_trigger),  # pyright: ignore
    "rrule": Parser(each(rrule_text), lambda text, now, here: read_rrule(str(text), here, now)[0], check_trigger),
    "duration": Parser(each(duration_text), lambda text, _now, _here: read_amount(text)),
    "job id": Parser(each(id_value), lambda value, _now, _here: read_job_id(value)),  # pyright: ignore
    "day": Parser(texts, lambda text, now, here: read_bound(str(text), here, now, last=True), check_moment),
    "ics": Parser(each(ics_text), lambda text, now, _here: read_ics(str(text), now.date()), check_days_off),
    "policy": Parser(each(policy_values), lambda value, _now, _here: make_policy(value)),  # pyright: ignore
}


def fuzz(name: str, count: int, seed: int) -> Seen:
    """Give a parser that many inputs."""
    parser, chance, seen = PARSERS[name], random.Random(f"{name} {seed}"), Seen(name)
    warm_up()
    gc.disable()
    try:
        for value in parser.inputs(chance):
            if seen.inputs >= count:
                return seen
            seen.inputs += 1
            if seen.inputs % COLLECT_EVERY == 0:
                gc.collect()
            look(parser, value, START + timedelta(seconds=chance.randrange(400 * 86_400)), chance.choice(ZONES), seen)
    finally:
        gc.enable()
    raise AssertionError


def warm_up() -> None:
    """The first answer of a process builds tables of names; that isn't what an input costs."""
    for text in ("every day at 9 Berlin time", "evry day at 9", "every day at 9 Europe/Berln"):
        with suppress(BadTrigger):
            read_words(text, START, "UTC")


def look(parser: Parser, value: object, now: datetime, zone_name: str, seen: Seen) -> None:
    began = thread_time()
    try:
        found = parser.parse(value, now, zone_name)
    except BadTrigger as bad:
        took, found = thread_time() - began, None
        if not bad.message or not bad.hint or len(str(bad)) > 1000:
            seen.wrong.append(f"{brief(value)}: {bad!r:.300}")
    except BadPolicy:
        took, found = thread_time() - began, None
    except Exception as error:  # the finding itself
        took, found = thread_time() - began, None
        seen.wrong.append(f"{brief(value)} at {now} in {zone_name}: {error!r}")
    else:
        took = thread_time() - began
    if took > max(seen.worst, 0.001):
        took = min(took, *(cold_time(parser, value, now, zone_name) for _ in range(2)))
    if took > seen.worst:
        seen.worst, seen.worst_input = took, f"{brief(value)}"
    seen.slow += took > SLOW
    if found is None:
        return
    seen.accepted += 1
    try:
        if parser.check is not None:
            parser.check(value, found, now, zone_name)
    except Exception as error:  # what was accepted must be usable
        seen.wrong.append(f"{brief(value)} at {now} in {zone_name}, accepted: {error!r}")


def cold_time(parser: Parser, value: object, now: datetime, zone_name: str) -> float:
    """How long an input takes when nothing is remembered of it."""
    caches = (zone, zones_of, spelled_out, _compiled, _wallclock, _compiled_days, _compiled_calendar, _stretches)
    for cached in caches:
        cached.cache_clear()
    began = thread_time()
    with suppress(Exception):
        parser.parse(value, now, zone_name)
    return thread_time() - began


def brief(value: object) -> str:
    """Not all of a long input, nor of a number too long to be written."""
    try:
        return f"{value!r:.200}"
    except ValueError:
        return f"with a huge number: {type(value).__name__}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.timing.fuzz", description="Give parsers odd inputs.")
    parser.add_argument("count", type=int, help="how many inputs for each parser")
    parser.add_argument("names", nargs="*", metavar="parser", help=f"all, or some of: {', '.join(PARSERS)}")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(PARSERS):
        parser.error(f"no such parser: {', '.join(sorted(unknown))}")
    failed = False
    for name in asked.names or list(PARSERS):
        began = monotonic()
        seen = fuzz(name, asked.count, asked.seed)
        failed = failed or bool(seen.wrong) or seen.slow > 0
        print("\n".join(seen.wrong[:20]), file=sys.stderr)
        line = asdict(seen) | {"seed": asked.seed, "worst": f"{seen.worst * 1000:.2f} ms", "wrong": len(seen.wrong)}
        print(json.dumps(line | {"seconds": round(monotonic() - began)}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
