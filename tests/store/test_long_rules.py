"""Rules with very many times and days are read and put in words once, with others' turn between them."""

import asyncio
from collections.abc import Awaitable
from datetime import date, timedelta

import orjson

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.names import say_rules
from cronty.store.database import Row
from cronty.store.day_lists import is_long, read_triggers
from cronty.timing import Calendar
from tests.conftest import Hands, add

MANY = 12


def config(number: int) -> dict[str, object]:
    times = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(number, 1440, 31)]
    rules = [{"times": times, "months": [1 + month], "days": [1, 15, -1]} for month in range(8)]
    without = [(date(2027, 1, 1) + timedelta(days=9 * each)).isoformat() for each in range(300)]
    return {"rules": rules, "without": without}


async def turns(work: Awaitable[object]) -> int:
    """How many turns another task had while this was done; only for work that waits for nothing."""
    taken = 0

    async def other() -> None:
        nonlocal taken
        while True:
            await asyncio.sleep(0)
            taken += 1

    beside = asyncio.create_task(other())
    await work
    beside.cancel()
    return taken


async def no_lists(_name: str, *_arguments: object) -> list[Row]:
    raise AssertionError("no list is named")


async def test_a_long_rule_is_read_once_and_others_have_their_turn_before_each() -> None:
    stored = [(1, orjson.dumps({"kind": "calendar", **config(number)}).decode()) for number in range(MANY)]
    assert all(is_long(text) for _, text in stored)
    assert await turns(read_triggers(no_lists, stored)) >= MANY - 1
    first, again = [await read_triggers(no_lists, stored) for _ in range(2)]
    assert [id(trigger) for trigger in first] == [id(trigger) for trigger in again]


async def test_a_list_of_jobs_is_put_in_words_once_with_others_turn_between(door: Scheduler, hands: Hands) -> None:
    for number in range(MANY):
        await add(door, "calendar", config(number), name=f"fat {number}")
    listed = await door.list_jobs(local_caller("ann"))
    assert isinstance(listed, Ok)
    rules = [job.trigger for job in listed.value.jobs if isinstance(job.trigger, Calendar)]
    assert len(rules) == MANY
    assert all(rule.words for rule in rules), "nothing is left to say while the answer is written"
    for rule in rules:
        object.__setattr__(rule, "words", None)
    assert await turns(say_rules(listed.value.jobs)) >= MANY - 1
    assert await turns(say_rules(listed.value.jobs)) <= 1, "they were said"
