"""From what people say to a trigger, or to the triggers it may mean. Pure and deterministic: no model, no network."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cronty.timing.cron import Cron
from cronty.timing.describe import describe
from cronty.timing.errors import Unread
from cronty.timing.localtime import as_utc
from cronty.timing.trigger import Trigger
from cronty.timing.words.again import at_intervals, at_times, is_restricted, once_or_again, without_doubt
from cronty.timing.words.clauses import parse
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import after_delay, at_time, on_date, on_instant, on_relative_day, on_weekday
from cronty.timing.words.places import split_zone
from cronty.timing.words.said import Said
from cronty.timing.words.tokens import EXAMPLES, tidy
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_OPENINGS: Final = (
    "please",
    "remind me",
    "wake me",
    "run it",
    "run this",
    "run",
    "do it",
    "schedule it",
    "just",
    "cron:",
)
_CLOSINGS: Final = ("please", "thanks", "thank you")
_CRON_NAMES: Final = frozenset(name[:3].upper() for name in (*WEEKDAY_NAMES, *MONTH_NAMES))
_CRON_LETTERS: Final = frozenset("0123456789*/,-#?%+ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text means: the trigger, its zone, the trigger in words, its first slot, and what else to know."""

    trigger: Trigger
    zone: str
    words: str
    next_at: datetime | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A text that may mean several things; somebody has to choose."""

    readings: tuple[Reading, ...]


def read_words(text: str, now: datetime, zone_name: str) -> Reading | Ambiguous:
    """Read at most 128 characters such as `every weekday at 8:30`, said at `now` in `zone_name`.

    Raises `BadTrigger` for what can't be read or kept exactly. A text that may mean two things is never
    guessed at: the answer is `Ambiguous`, even if one reading is the likelier one.
    """
    now = as_utc(now)
    rest, zones = split_zone(_without_politeness(tidy(text)), zone_name)
    readings: dict[tuple[Trigger, str], Reading] = {}
    for zone in zones:
        for meaning in _meanings(rest, Scene(now, zone)):
            key = (meaning.trigger, zone)
            trigger = meaning.trigger
            reading = Reading(trigger, zone, describe(trigger, zone), trigger.after(now), meaning.note)
            readings.setdefault(key, reading)
    found = tuple(sorted(readings.values(), key=lambda reading: reading.next_at or _NEVER))
    return found[0] if len(found) == 1 else Ambiguous(found)


def _without_politeness(text: str) -> str:
    """The text without `please` and `remind me`."""
    rest = text
    while opening := next((each for each in _OPENINGS if rest.lower().startswith(each + " ")), ""):
        rest = rest[len(opening) + 1 :].lstrip(", ")
    while closing := next((each for each in _CLOSINGS if rest.lower().rstrip(".! ").endswith(" " + each)), ""):
        rest = rest.rstrip(".! ")[: -len(closing) - 1].rstrip(", ")
    if not rest:
        raise Unread(f'Can\'t read "{text}"', EXAMPLES)
    return rest


def _meanings(text: str, scene: Scene) -> list[Meaning]:
    if _is_cron(text):
        return [Meaning(Cron(text, scene.zone))]
    if (moment := _iso_moment(text)) is not None:
        return on_instant(moment, scene)
    said = parse(text)
    if said.second_pass and (said.again or said.every is not None or said.delay is not None):
        raise Unread(f'Can\'t read "second pass" in "{text}"', "Only one moment can have one.")
    return _meanings_of(said, scene)


def _meanings_of(said: Said, scene: Scene) -> list[Meaning]:
    if said.doubt:
        return [meaning for each in without_doubt(said) for meaning in _meanings_of(each, scene)]
    if said.every is not None or (said.weeks and not is_restricted(said)):
        if said.delay is not None:
            raise Unread(f'Can\'t read "{said.text}": a delay and a period', "Give one of the two.")
        return at_intervals(said, scene)
    if said.delay is not None:
        return after_delay(said, scene)
    if said.again or said.rhythm or said.window is not None or said.minutes or said.by_clock or said.either:
        return at_times(said, scene)
    if said.date is not None:
        return on_date(said, scene)
    if said.month_days or said.nths or said.months:
        return once_or_again(said, scene)
    if said.relative is not None:
        return on_relative_day(said, scene)
    if said.weekdays:
        return on_weekday(said, scene)
    return at_time(said, scene)


def _is_cron(text: str) -> bool:
    """Whether this is meant to be a cron expression, right or wrong."""
    fields = text.upper().split(" ")
    if text.startswith("@") or fields[0].startswith(("CRON_TZ=", "TZ=")):
        return True
    timed = len(fields) in (5, 6) and fields[0][:1].isdigit() and fields[1][:1].isdigit()
    return "*" in text or (timed and all(_is_field(each) for each in fields))


def _is_field(text: str) -> bool:
    numeric = text[0].isdigit() or text.rstrip("LW") == ""
    return set(text) <= _CRON_LETTERS and (numeric or text[:3] in _CRON_NAMES)


def _iso_moment(text: str) -> datetime | None:
    """An instant in ISO 8601 with date and time, or None if this is something else."""
    if len(text) < 13 or not text[:4].isdigit() or text[4] != "-" or text[10] not in "Tt ":
        return None
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None
