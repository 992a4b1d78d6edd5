"""What a sentence may mean: its groups of days with their times, within its bounds, at the place where it is said."""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.interval import Interval
from cronty.timing.once import Once
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
from cronty.timing.words.engine import Node
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
from cronty.timing.words.once import after_delay, at_time, in_month, on_date, on_relative_day, on_weekday
from cronty.timing.words.periods import at_intervals, from_moment
from cronty.timing.words.said import Amount, Bounds, Said
from cronty.timing.words.sentence import Sentence

_TWO_WAYS: Final = (
    "at the same time of day; clocks change before then",
    "that many times 24 hours; clocks change before then",
)
_OTHER_PASSED: Final = "with day and month the other way around it has passed"


def meanings(text: str, tree: Node, scene: Scene, most: int) -> list[Meaning]:
    """What a sentence means; if it can't have both sides of an "or", what each of them means."""
    try:
        return _one(build(text, tree), scene)
    except BadTrigger as bad:
        refused = bad
    found: list[Meaning] = []
    for side in sides(tree)[:most]:
        with suppress(BadTrigger):
            found += meanings(text, side, scene, most // 2)
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
    if said.relative is not None or said.business_ahead:
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
