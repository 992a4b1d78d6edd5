"""From what people say to a trigger, or to the triggers it may mean. Pure and deterministic: no model, no network."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from cronty.timing.cron import Cron
from cronty.timing.describe import describe, with_count
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.interval import Interval
from cronty.timing.localtime import as_utc, instant_of
from cronty.timing.once import Once
from cronty.timing.trigger import Trigger
from cronty.timing.words.again import MAX_READINGS
from cronty.timing.words.engine import Node, Token, Unreadable
from cronty.timing.words.interpret import meanings
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import date_text, on_instant
from cronty.timing.words.places import offset_said, place, split_zone
from cronty.timing.words.refusals import refusal
from cronty.timing.words.shared_clocks import at_offset, come_to_the_same, same_as
from cronty.timing.words.tokens import EXAMPLES, MAX_TOKENS, grammar, lowered, tidy
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES
from cronty.timing.zones import zone

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_OPENINGS: Final = (
    *("please", "pls", "plz"),
    *(
        "remind me",
        "wake me up",
        "wake me",
        "set an alarm for",
        "set alarm for",
        "set a reminder for",
        "set reminder for",
        "set a timer for",
    ),
    "run it",
    "run this",
    "run",
    "do it",
    *("schedule it for", "schedule it", "schedule for", "schedule"),
    "just",
    *("cron:", "recurring:", "schedule:", "-"),
)
_CLOSINGS: Final = ("please", "pls", "plz", "thanks", "thank you", "thx")
_CRON_NAMES: Final = frozenset(name[:3].upper() for name in (*WEEKDAY_NAMES, *MONTH_NAMES))
_CRON_LETTERS: Final = frozenset("0123456789*/,-#?%+ABCDEFGHIJKLMNOPQRSTUVWXYZ")


type Reader = Callable[[Scene], list[Meaning]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text means: the trigger, its zone, the trigger in words, its first slot, and what else to know.

    `max_runs` is how many times it was said to run: a trigger doesn't count, its job does.
    """

    trigger: Trigger
    zone: str
    words: str
    next_at: datetime | None = None
    note: str | None = None
    max_runs: int | None = None


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A text that may mean several things, of which one has to be chosen.

    Only one reading if the time was soft, as in "tomorrow morning": that is to be confirmed, and its note says why.
    Or if the other has passed: "5/6/2027 at 9" said on 14 May is 5 June, or a slip about 6 May.
    """

    readings: tuple[Reading, ...]


def read_words(text: str, now: datetime, zone_name: str) -> Reading | Ambiguous:
    """Read at most 500 characters such as `every weekday at 8:30`, said at `now` in `zone_name`.

    Raises `BadTrigger` for what can't be read or kept exactly. A text that may mean two things is never
    guessed at: the answer is `Ambiguous`, even if one reading is the likelier one.
    """
    now = as_utc(now)
    rest, zones = split_zone(_without_politeness(tidy(text)), zone_name)
    offset = offset_said(text) if rest != text else None
    readings: dict[tuple[Trigger, str], Reading] = {}
    unsure, alike = False, dict[str, None]()
    read_at = _reader(rest)
    for name in at_offset(zones, offset, now.year):
        for meaning in _by_offset(_meanings_there(read_at, Scene(now, name), zone_name), offset, now):
            key = (meaning.trigger, name)
            trigger = meaning.trigger
            unsure = unsure or bool(meaning.soft) or meaning.choice
            if any(come_to_the_same(each, key, now.year) for each in readings if name != each[1]):
                alike[name] = None
                continue
            words = with_count(_with_start(trigger, name, now), name, meaning.most)
            reading = Reading(trigger, name, words, trigger.after(now), _note(meaning), meaning.most)
            readings.setdefault(key, reading)
    found = tuple(sorted(readings.values(), key=lambda reading: reading.next_at or _NEVER))
    if len(found) == 1 and not unsure:
        return replace(found[0], note=found[0].note or same_as(alike))
    return Ambiguous(found)


def _by_offset(found: list[Meaning], offset: timedelta | None, now: datetime) -> list[Meaning]:
    """`9am CEST` in winter: by the clocks of that day, or by the offset; where 02:30 comes twice it says which."""
    more: list[Meaning] = []
    for meaning in found:
        once = meaning.trigger
        local = once.local if offset is not None and isinstance(once, Once) else None
        if local is None or offset is None or not isinstance(once, Once) or once.zone is None:
            more.append(meaning)
            continue
        moment, there = local.replace(tzinfo=UTC) - offset, instant_of(local, once.zone)
        said = Meaning(Once(moment), soft=meaning.soft)
        if moment == there.at:
            more.append(replace(meaning, note=None) if there.twice else meaning)
        elif there.twice:
            more.append(said)
        else:
            more += [meaning, said] if moment > now else [meaning]
    return more


def _meanings_there(read_at: Reader, scene: Scene, home: str) -> list[Meaning]:
    """`tomorrow at 9 London time`: where it is already tomorrow in London, it may be tomorrow here or there."""
    here = replace(scene, home=home)
    if here.today == scene.today:
        return read_at(scene)
    found: list[Meaning] = []
    refused: BadTrigger | None = None
    for each in (here, scene):
        try:
            found += read_at(each)
        except BadTrigger as bad:
            refused = bad
    if not found and refused is not None:
        raise refused
    return found


def _with_start(trigger: Trigger, zone_name: str, now: datetime) -> str:
    """The trigger in words; and from when on, if it is a period that begins later."""
    words = describe(trigger, zone_name)
    if not isinstance(trigger, Interval) or trigger.anchor <= now:
        return words
    local = trigger.anchor.astimezone(zone(zone_name))
    return f"{words}, starting {date_text(local.date()).partition(' ')[2]} at {local:%H:%M}, {place(zone_name)}"


def _note(meaning: Meaning) -> str | None:
    if not meaning.soft:
        return meaning.note
    offered = f'"{meaning.soft}" is no exact time: this is the usual one'
    return offered if meaning.note is None else f"{offered}; {meaning.note}"


def _without_politeness(text: str) -> str:
    """The text without `please` and `remind me`, and without quotes around it."""
    rest = text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'`" else text
    while opening := next((each for each in _OPENINGS if rest.lower().startswith(each + " ")), ""):
        rest = rest[len(opening) + 1 :].lstrip(", ")
    while closing := next((each for each in _CLOSINGS if rest.lower().rstrip(".! ").endswith(" " + each)), ""):
        rest = rest.rstrip(".! ")[: -len(closing) - 1].rstrip(", ")
    if not rest:
        raise Unread(f'Can\'t read "{text}"', EXAMPLES)
    return rest


def _reader(text: str) -> Reader:
    """The text, parsed once, to be read at one place or several."""
    if _is_cron(text):
        return lambda scene: [Meaning(Cron(text, scene.zone))]
    if (moment := _iso_moment(text)) is not None:
        return lambda scene: on_instant(moment, scene)
    if text.isdigit() and len(text) not in (4, 8):
        return lambda scene: _only_a_number(text, scene)
    tree = _tree(text)
    return lambda scene: meanings(text, tree, scene, MAX_READINGS)


def _only_a_number(text: str, scene: Scene) -> list[Meaning]:
    """`9` may be a time or a number of minutes."""
    if not 1 <= len(text) <= 2 or not 0 < int(text) < 24:
        raise BadTrigger(f'"{text}" is only a number', f'Say what it counts, as in "in {text[:4]} minutes".')
    return [*_reader(f"at {text}")(scene), *_reader(f"in {text} minutes")(scene)]


def _tree(text: str) -> Node:
    tokens: list[Token] = []
    try:
        tokens = grammar().tokens(lowered(text))
        if len(tokens) > MAX_TOKENS:
            raise Unread(f"Can't read a time of {len(tokens)} words and marks", f"At most {MAX_TOKENS} are allowed.")
        return grammar().parse("sentence", tokens)
    except Unreadable as bad:
        raise refusal(text, tokens, bad) from None


def _is_cron(text: str) -> bool:
    """Whether this is meant to be a cron expression, right or wrong."""
    fields = text.upper().split(" ")
    if (text.startswith("@") and text[1:2].isalpha()) or fields[0].startswith(("CRON_TZ=", "TZ=")):
        return True
    timed = len(fields) in (5, 6) and fields[0][:1].isdigit() and fields[1][:1].isdigit()
    return "*" in text or (timed and all(_is_field(each) for each in fields))


def _is_field(text: str) -> bool:
    numeric = text[0].isdigit() or text.rstrip("LW") == ""
    return set(text) <= _CRON_LETTERS and (numeric or text[:3] in _CRON_NAMES)


def _iso_moment(text: str) -> datetime | None:
    """An instant in ISO 8601 with date and time, or None if this is something else."""
    parted = text[4:5] == "-" and text[10:11] in ("T", "t", " ")
    if len(text) < 13 or not text[:4].isdigit() or not (parted or (text[:8].isdigit() and text[8] in "Tt")):
        return None
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None
