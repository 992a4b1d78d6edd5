from celery import Celery

app = Celery("shop", broker="memory://")


@app.task
def remind(name: str) -> None:
    print("reminded", name)


def ask() -> None:
    remind.apply_async(("ann",), countdown=2 * 60 * 60)
