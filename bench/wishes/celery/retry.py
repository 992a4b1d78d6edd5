from celery import Celery

app = Celery("shop", broker="memory://")


@app.task(autoretry_for=(Exception,), max_retries=5, retry_backoff=True)
def fetch(page: str) -> None:
    raise ConnectionError(page)


def ask() -> None:
    fetch.delay("/prices")
