"""Schedules that a program declares: what is refused, whose they are, and what is said about them."""

import pytest

from cronty import Cronty


def shop(url: str) -> Cronty:
    return Cronty(url)


def test_two_schedules_of_one_name_are_refused_where_they_are_declared() -> None:
    cronty = shop("postgresql://nowhere/nothing")

    @cronty.task
    def report(topic: str) -> str:
        return topic

    with pytest.raises(ValueError, match=r'(?s)report\("a"\).*report\("b"\).*\.options\(name=…\)'):
        cronty.schedules([report.every("monday at 7:00", topic) for topic in ("a", "b")])
    assert cronty.declared == []
    cronty.schedules([report.every("monday at 7:00", "a")])
    with pytest.raises(ValueError, match="two schedules"):
        cronty.schedules([report.every("monday at 7:00", "b")])

    @cronty.every("day at 9:00")
    def nightly() -> None: ...

    with pytest.raises(ValueError, match="two schedules"):
        cronty.schedules([report.options(name="nightly").every("monday at 7:00", "b")])


async def test_two_schedules_of_one_name_that_were_put_in_the_list_by_hand_are_refused_when_it_opens(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    def report(topic: str) -> str:
        return topic

    cronty.declared += [report.every("monday at 7:00", topic) for topic in ("a", "b")]
    with pytest.raises(ValueError, match="two schedules"):
        async with cronty:
            pass
    async with shop(url) as after:
        assert (await after.list_jobs()).jobs == []
