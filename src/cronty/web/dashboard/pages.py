"""Renders templates: everything is escaped, and an undefined name is an error."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cronty.jobs.action import Action
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import Job, failing_words
from cronty.jobs.moments import local_text
from cronty.jobs.run import FAILED, run_id
from cronty.timing import Cron, Interval, describe
from cronty.timing.errors import BadTrigger
from cronty.timing.words.places import place, split_zone
from cronty.web.dashboard.assets import asset_url
from cronty.web.dashboard.formats import (
    ago,
    brief,
    clock_text,
    counted,
    cut,
    day_clock,
    day_text,
    duration,
    first_line,
    is_fine,
    long_day,
    mid,
    number,
    plain_error,
    since,
    span,
    unbroken,
    utc_text,
)
from cronty.web.dashboard.verdicts import (
    CATCH_UPS,
    KINDS,
    LABELS,
    MEANINGS,
    OVERLAPS,
    STATUS_MARK,
    kind_of,
    sentences,
    what_of,
)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(str(files("cronty.web.dashboard") / "templates"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    known = cast("dict[str, Any]", made.globals)  # pyright: ignore[reportUnknownMemberType]
    known |= {
        "asset": asset_url,
        "labels": LABELS,
        "meanings": MEANINGS,
        "status_mark": STATUS_MARK,
        "call": call_text,
        "describe": describe,
        "job_id_text": job_id_text,
        "run_id": run_id,
        "failing_words": failing_words,
        "failed_verdicts": FAILED,
        "is_fine": is_fine,
        "kinds": KINDS,
        "kind_of": kind_of,
        "what_of": what_of,
        "overlaps": OVERLAPS,
        "catch_ups": CATCH_UPS,
        "sentences": sentences,
        "rule": rule_words,
        "own_words": own_words,
    }
    filters = cast("dict[str, Any]", made.filters)
    filters |= {
        "ago": ago,
        "brief": brief,
        "clock": clock_text,
        "counted": counted,
        "cut": cut,
        "day": day_text,
        "day_clock": day_clock,
        "duration": duration,
        "first_line": first_line,
        "flat": flat,
        "local": local_text,
        "long_day": long_day,
        "mid": mid,
        "note_for": note_for,
        "since": since,
        "number": number,
        "place": place,
        "plain": plain_error,
        "capital": capital,
        "capital_word": capital_word,
        "paragraphs": str.splitlines,
        "pretty": pretty,
        "span": span,
        "unbroken": unbroken,
        "utc": utc_text,
        "without_zone": without_zone,
    }
    return made


def render(template: str, **facts: object) -> str:
    return environment().get_template(template).render(**facts)


def rule_words(job: Job, zone_name: str) -> str:
    """The schedule in its owner's words, or in ours; with its zone if that isn't the reader's and they don't say it."""
    said, rule = own_words(job), job.trigger
    if said is None:
        return without_zone(describe(rule, job.zone), zone_name)
    known = job.zone == zone_name or isinstance(rule, Interval) or _names_a_zone(said)
    return said if known else f"{said}, {place(job.zone)}"


def _names_a_zone(said: str) -> bool:
    """Whether somebody's words say where they count: `weekdays at 15:10 in Tokyo`."""
    try:
        return split_zone(said, "UTC")[0] != said
    except BadTrigger:
        return True


def without_zone(words: str, zone_name: str) -> str:
    """A schedule in words, without the zone that goes without saying."""
    return words.removesuffix(f", {place(zone_name)}")


def note_for(note: str | None, zone_name: str) -> str:
    """What is said of a time, without what only a reader in UTC would notice."""
    return "" if note is None or (zone_name != "UTC" and " in UTC than " in note) else note


def own_words(job: Job) -> str | None:
    """What the owner said the schedule is; None if that was a cron expression."""
    is_cron = isinstance(job.trigger, Cron) and not (job.said or "*")[:1].isalpha()
    return None if is_cron else job.said


def call_text(action: Action) -> str:
    """The call in one line: `run_backup("/data", compress=true)`."""
    parts = [orjson.dumps(value).decode() for value in action.args]
    parts += [f"{name}={orjson.dumps(value).decode()}" for name, value in action.kwargs.items()]
    return f"{action.task}({', '.join(parts)})"


def capital(text: str) -> str:
    """The first letter large; the others as they are."""
    return text[:1].upper() + text[1:]


def capital_word(text: str) -> str:
    """The first letter large, unless the text begins with something that isn't a word: an address, a path."""
    return capital(text) if text.split(" ")[0].isalpha() else text


def flat(result: str) -> str:
    """A result that isn't text, in one line: its `note`, or `status ok, seconds 0.8`; one that was cut stays so."""
    try:
        value: object = orjson.loads(result)
    except orjson.JSONDecodeError:
        return result
    if not isinstance(value, dict):
        return result
    known = cast("dict[str, object]", value)
    if isinstance(note := known.get("note"), str):
        return note
    said = [f"{name} {one if isinstance(one, str) else orjson.dumps(one).decode()}" for name, one in known.items()]
    return ", ".join(said)


def pretty(value: object) -> str:
    """Indented JSON. A text is parsed as JSON first."""
    if isinstance(value, str):
        value = orjson.loads(value)
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
