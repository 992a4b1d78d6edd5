"""From what people say to a trigger, or to the triggers it may mean. Pure and deterministic: no model, no network."""

from collections.abc import Callable
from contextlib import suppress
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
from cronty.timing.words.again import (
    DAY,
    MAX_READINGS,
    at_times,
    is_in_doubt,
    is_restricted,
    once_or_again,
    with_usual_time,
    without_doubt,
)
from cronty.timing.words.bounds import days_of, leave_out, needs_day, on_day, point_at, repeating, within
from cronty.timing.words.build import build
from cronty.timing.words.calendars import since_of
from cronty.timing.words.either import sides
from cronty.timing.words.engine import Node, Token, Unreadable
from cronty.timing.words.facts import (
    DELAY,
    DELAY_FROM_DAY,
    DELAY_TO_TIME,
    NEXT_MONTH,
    ONE_DATE,
    ONE_DAY,
    ONE_TIME,
    PERIOD,
    RHYTHM,
    RHYTHM_AND_TIMES,
    TIMES,
    check_used,
)
from cronty.timing.words.groups import except_in_part
from cronty.timing.words.lengths import counted
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import (
    after_delay,
    at_time,
    date_text,
    in_month,
    on_date,
    on_instant,
    on_relative_day,
    on_weekday,
)
from cronty.timing.words.periods import at_intervals, from_moment
from cronty.timing.words.places import offset_said, place, split_zone
from cronty.timing.words.refusals import refusal
from cronty.timing.words.said import Amount, Bounds, Said
from cronty.timing.words.sentence import Sentence
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
_TWO_WAYS: Final = (
    "at the same time of day; clocks change before then",
    "that many times 24 hours; clocks change before then",
)
_OTHER_PASSED: Final = "with day and month the other way around it has passed"
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
    return lambda scene: _either(text, tree, scene, MAX_READINGS)


def _only_a_number(text: str, scene: Scene) -> list[Meaning]:
    """`9` may be a time or a number of minutes."""
    if not 1 <= len(text) <= 2 or not 0 < int(text) < 24:
        raise BadTrigger(f'"{text}" is only a number', f'Say what it counts, as in "in {text[:4]} minutes".')
    return [*_reader(f"at {text}")(scene), *_reader(f"in {text} minutes")(scene)]


def _either(text: str, tree: Node, scene: Scene, most: int) -> list[Meaning]:
    """What a sentence means; if it can't have both sides of an "or", what each of them means."""
    try:
        return _one(build(text, tree), scene)
    except BadTrigger as bad:
        refused = bad
    found: list[Meaning] = []
    for side in sides(tree)[:most]:
        with suppress(BadTrigger):
            found += _either(text, side, scene, most // 2)
    if not found:
        raise refused
    return [replace(meaning, choice=True) for meaning in found[:MAX_READINGS]]


def _one(sentence: Sentence, scene: Scene) -> list[Meaning]:
    found = [meaning for bounds in _leaving_out(sentence) for meaning in _bounded(sentence, bounds, scene)]
    if any(said.lent for said in sentence.groups):
        sentence.lend_rhythms(since_of(found[0].trigger, first=True))
        found += _bounded(sentence, sentence.bounds, scene)
    if except_in_part(sentence):
        found += _bounded(sentence, sentence.bounds, scene)
    if sentence.by:
        found = [replace(meaning, note=meaning.note or '"by" is read as "at"') for meaning in found]
    if not sentence.once:
        return found
    only = [meaning for meaning in found if isinstance(meaning.trigger, Once)]
    if not only:
        raise sentence.refuse("once, or again and again?", 'Leave out "once", or say one moment.')
    return only


def _leaving_out(sentence: Sentence) -> list[Bounds]:
    """`every Monday except the first`: the first Monday, or the first day of the month."""
    bounds, (said, *more) = sentence.bounds, sentence.groups
    if more or len(said.weekdays) != 1 or not bounds.without_days or max(bounds.without_days) > 5:
        return [bounds]
    nths = tuple((day, said.weekdays[0]) for day in bounds.without_days)
    return [bounds, replace(bounds, without_days=(), without_nths=nths)]


def _bounded(sentence: Sentence, bounds: Bounds, scene: Scene) -> list[Meaning]:
    groups = [with_usual_time(leave_out(said, bounds)) for said in sentence.groups]
    bounds = sentence.bounds = counted(bounds, groups, scene)
    if bounds.starts is not None and len(groups) == 1 and needs_day(groups[0]):
        days = days_of(bounds.starts, scene, sentence.text, start=True)
        each_start = [(replace(bounds, starts=point_at(day)), on_day(groups[0], day)) for day in days]
    else:
        each_start = [(bounds, None)]
    found: list[Meaning] = []
    for limits, only in each_start:
        sentence.bounds = limits
        chosen = groups if only is None else [only]
        chosen = chosen if bounds.most is None else [repeating(said) for said in chosen]
        found += [replace(meaning, most=bounds.most) for meaning in _within_bounds(sentence, chosen, scene)]
    if bounds.most is not None and groups[0].first_run:
        # "every 5 minutes starting at 9:00, 3 times": the first of them is at 9:00.
        found = [meaning for meaning in found if isinstance(meaning.trigger, Interval)] or found
    return found


def _within_bounds(sentence: Sentence, groups: list[Said], scene: Scene) -> list[Meaning]:
    rest = replace(sentence.bounds, without_weekdays=(), without_months=(), without_days=(), without_nths=(), most=None)
    if len(groups) == 1 and not rest:
        return _meanings_of(groups[0], scene)
    if len(groups) == 1 and rest.starts is not None and rest == Bounds(starts=rest.starts):
        said = groups[0]
        period = said.every is not None and not said.every.months and said.every.elapsed < DAY
        if period and said.clocks and not said.windows:
            return from_moment(said, days_of(rest.starts, scene, sentence.text, start=True), scene)
        return _starting(sentence, said, scene)
    return within(sentence, groups, scene)


def _tree(text: str) -> Node:
    tokens: list[Token] = []
    try:
        tokens = grammar().tokens(lowered(text))
        if len(tokens) > MAX_TOKENS:
            raise Unread(f"Can't read a time of {len(tokens)} words and marks", f"At most {MAX_TOKENS} are allowed.")
        return grammar().parse("sentence", tokens)
    except Unreadable as bad:
        raise refusal(text, tokens, bad) from None


def _starting(sentence: Sentence, said: Said, scene: Scene) -> list[Meaning]:
    """A start that changes nothing is left out: `every day at 9 starting tomorrow`, said in the evening."""
    bounded = within(sentence, [said], scene)
    found: list[Meaning] = []
    for meaning in bounded:
        since = since_of(meaning.trigger)
        counted = said if since is None or said.counting_from is not None else replace(said, counting_from=since)
        plain = (each for each in _meanings_of(replace(counted, again=True), scene))
        found.append(next((each for each in plain if _comes_alike(each, meaning, scene)), meaning))
    return found


def _comes_alike(one: Meaning, other: Meaning, scene: Scene) -> bool:
    """Whether two triggers of the same rhythm have the same first slots."""
    first, second = one.trigger.after(scene.now), other.trigger.after(scene.now)
    return first == second and (first is None or one.trigger.after(first) == other.trigger.after(first))


def _meanings_of(said: Said, scene: Scene) -> list[Meaning]:
    if said.second_pass and (said.again or said.every is not None or said.delay is not None):
        raise Unread(f'Can\'t read "second pass" in "{said.text}"', "Only one moment can have one.")
    if said.doubt == "delay":
        return _clock_or_delay(said, scene)
    if is_in_doubt(said):
        return [meaning for each in without_doubt(said) for meaning in _meanings_of(each, scene)]
    if said.every is not None or (said.weeks and not is_restricted(said)):
        if said.delay is not None:
            raise Unread(f'Can\'t read "{said.text}": a delay and a period', "Give one of the two.")
        found = at_intervals(said, scene)
        if said.clocks:
            return _all_used(said, RHYTHM_AND_TIMES if said.windows else TIMES, found)
        return _all_used(said, RHYTHM if is_restricted(said) else PERIOD, found)
    if said.delay is not None:
        used = DELAY_FROM_DAY if said.delay_from else DELAY_TO_TIME if said.clocks else DELAY
        return _all_used(said, used, _by_calendar_or_stopwatch(said, after_delay(said, scene)))
    if said.again or said.rhythm or said.windows or said.minutes or said.by_clock or said.either or said.first_clock:
        return _all_used(said, TIMES, at_times(said, scene))
    if said.date is not None:
        found = _all_used(said, ONE_DATE, on_date(said, scene))
        lone = len(found) == 1 and found[0].choice and len(said.date.choices) > 1
        return [replace(found[0], note=found[0].note or _OTHER_PASSED)] if lone else found
    if said.months_ahead is not None or said.month_of_year is not None:
        return _all_used(said, NEXT_MONTH, in_month(said, scene))
    if said.of_month or said.nths or said.months:
        return _all_used(said, TIMES, once_or_again(said, scene))
    if said.relative is not None:
        return _all_used(said, ONE_DAY, on_relative_day(said, scene))
    if said.weekdays:
        return _all_used(said, ONE_DAY, on_weekday(said, scene))
    return _all_used(said, ONE_TIME, at_time(said, scene))


def _by_calendar_or_stopwatch(said: Said, found: list[Meaning]) -> list[Meaning]:
    """`in 5 days` where clocks change meanwhile: each of the two ways to count says which it is."""
    if len(found) != 2 or said.clocks or said.delay_from:
        return found
    return [replace(each, note=each.note or note) for each, note in zip(found, _TWO_WAYS, strict=True)]


def _clock_or_delay(said: Said, scene: Scene) -> list[Meaning]:
    """`17h30` or `17h` beside a day is a time; alone it may be a delay, and `2h` is one."""
    sure = replace(said, doubt="")
    if sure != Said(said.text, clocks=said.clocks):
        return _meanings_of(sure, scene)
    delay = _meanings_of(Said(said.text, delay=Amount(rest=said.clocks[0].since_midnight)), scene)
    return delay if said.clocks[0].open else _meanings_of(sure, scene) + delay


def _all_used(said: Said, used: tuple[str, ...], found: list[Meaning]) -> list[Meaning]:
    check_used(said, used)
    return found


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
