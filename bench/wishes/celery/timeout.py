from threading import Event

from celery import Celery

app = Celery("shop", broker="memory://")


@app.task(time_limit=1)
def fetch(page: str) -> None:
    Event().wait()


def ask() -> None:
    fetch.delay("/prices")
