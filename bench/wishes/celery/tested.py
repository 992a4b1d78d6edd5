from datetime import datetime
from zoneinfo import ZoneInfo

from celery import Celery
from celery.schedules import crontab

BERLIN = ZoneInfo("Europe/Berlin")
app = Celery("shop", broker="memory://")
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "close_the_books": {"task": "close_the_books", "schedule": crontab(minute=0, hour=3, day_of_week="mon-fri")},
}
closed: list[str] = []


@app.task(name="close_the_books")
def close_the_books() -> None:
    closed.append("closed")


def test_not_at_the_weekend() -> None:
    schedule = app.conf.beat_schedule["close_the_books"]["schedule"]
    friday = datetime(2027, 1, 8, 3, tzinfo=BERLIN)
    schedule.nowfun = lambda: datetime(2027, 1, 10, 23, tzinfo=BERLIN)
    assert not schedule.is_due(friday).is_due
    schedule.nowfun = lambda: datetime(2027, 1, 11, 3, tzinfo=BERLIN)
    assert schedule.is_due(friday).is_due


def test_what_it_does() -> None:
    close_the_books.apply()
    assert closed == ["closed"]
