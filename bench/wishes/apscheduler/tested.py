import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

BERLIN = ZoneInfo("Europe/Berlin")
closed: list[str] = []


async def close_the_books() -> None:
    closed.append("closed")


def weekdays(start: datetime | None = None) -> CronTrigger:
    return CronTrigger(
        day_of_week="mon-fri", hour=3, minute=0, timezone=BERLIN, start_time=start or datetime.now(BERLIN)
    )


def test_not_at_the_weekend() -> None:
    trigger = weekdays(datetime(2027, 1, 8, tzinfo=BERLIN))
    assert trigger.next() == datetime(2027, 1, 8, 3, tzinfo=BERLIN)
    assert trigger.next() == datetime(2027, 1, 11, 3, tzinfo=BERLIN)


def test_what_it_does() -> None:
    asyncio.run(close_the_books())
    assert closed == ["closed"]
