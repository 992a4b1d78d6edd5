"""How often a period of minutes or hours comes in a length of time: `every hour for a day` is 24 times."""

from dataclasses import replace
from datetime import timedelta

from cronty.timing.errors import Unread
from cronty.timing.localtime import instant_of
from cronty.timing.words.meaning import Scene
from cronty.timing.words.once import day_after, local_time
from cronty.timing.words.said import Amount, Bounds, Said


def counted(bounds: Bounds, groups: list[Said], scene: Scene) -> Bounds:
    """A length as a number of times, if it is said of a period that goes on day and night."""
    said, lasts = groups[0], bounds.lasts
    if lasts is None or bounds.ends is not None or len(groups) > 1 or not _goes_on(said):
        return bounds
    if said.clocks and bounds.starts is None:
        return bounds
    if said.first_clock and not said.first_run and not lasts.rest:
        return bounds  # "every 8 hours from 6:00 for 5 days" is on these days
    assert said.every is not None
    period, length = said.every.elapsed, _elapsed(lasts, scene)
    if bounds.most is not None:
        raise Unread(f'Can\'t read "{said.text}": how long, and how many times', "Leave out one of the two.")
    if length < period:
        raise Unread(
            f'Can\'t read "{said.text}": it lasts shorter than its period', "Say how many times, or for longer."
        )
    return replace(bounds, lasts=None, most=-(-length // period) * max(1, len(said.minutes)))


def _goes_on(said: Said) -> bool:
    """Whether a period of minutes or hours is kept to no days and no hours."""
    if said.every is None or not said.every.within_day or not said.every.rest or said.windows:
        return False
    days = said.weekdays or said.of_month or said.nths or said.months or said.date or said.cycle or said.weeks
    return not days and not said.rhythm and said.relative is None


def _elapsed(lasts: Amount, scene: Scene) -> timedelta:
    if not lasts.months:
        return lasts.elapsed
    since_midnight = timedelta(hours=scene.local.hour, minutes=scene.local.minute, seconds=scene.local.second)
    last = local_time(day_after(replace(lasts, rest=timedelta(0)), scene.today), since_midnight)
    return instant_of(last, scene.zone).at - scene.now.replace(microsecond=0) + lasts.rest


def by_the_clock(said: Said, bounds: Bounds) -> str | None:
    """What to say of `every 8 hours until Friday`, which is at 00:00, 08:00 and 16:00."""
    plain = _goes_on(said) and not (said.clocks or said.first_clock or said.minutes or said.by_clock)
    if bounds.ends is None or not plain:
        return None
    return "with an end it goes by the clock, counted from midnight and not from now"
