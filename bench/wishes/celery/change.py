# It was 3:00, and there was one more schedule.
from celery import Celery
from celery.schedules import crontab

app = Celery("shop", broker="memory://")
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "close_the_books": {"task": "close_the_books", "schedule": crontab(minute=0, hour=4, day_of_week="mon-fri")},
}


@app.task(name="close_the_books")
def close_the_books() -> None:
    print("closed")
