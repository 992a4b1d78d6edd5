# ruff: noqa: E402
# Runs the programs of this folder: `python try_all.py`, with the packages of ../peers.txt.
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

FOLDER = tempfile.mkdtemp()
os.environ["CELERY_BROKER_URL"] = f"sqla+sqlite:///{FOLDER}/broker.db"
os.environ["CELERY_RESULT_BACKEND"] = f"db+sqlite:///{FOLDER}/results.db"

import change
import later
import retry
import weekday
from celery.beat import PersistentScheduler


def work(module: str, until: str) -> str:
    """Start a worker by its command, as users do; return its log once it says that."""
    log = Path(FOLDER) / f"{module}.log"
    command = [sys.executable, "-m", "celery", "-A", module, "worker", "-c", "2", "-l", "INFO"]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as worker:
        deadline = time.monotonic() + 120
        while until not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.2)
        worker.terminate()
    assert until in log.read_text(), log.read_text()
    return log.read_text()


def beat(app) -> PersistentScheduler:
    return PersistentScheduler(app, schedule_filename=f"{FOLDER}/beat", lazy=False)


def main() -> None:
    first = beat(weekday.app)
    entry = first.schedule["close_the_books"]
    entry.schedule.nowfun = lambda: datetime(2027, 1, 9, 3, tzinfo=UTC)
    print("weekday: from Saturday 3:00 it waits", entry.schedule.remaining_estimate(entry.schedule.now()))
    first.apply_entry(entry)
    first.schedule["old"] = entry
    first.close()
    work("weekday", "closed")

    second = beat(change.app)
    assert "old" not in second.schedule
    print("change:", second.schedule["close_the_books"].schedule)
    second.close()

    later.ask()
    with later.app.connection_for_read() as connection:
        message = connection.SimpleQueue("celery").get(timeout=10)
        print("later:", message.headers["eta"])
        message.ack()

    tried = []
    retry.fetch._orig_run = lambda page: tried.append(page) or (_ for _ in ()).throw(ConnectionError(page))
    retry.fetch.apply(("/prices",))
    print("retry: attempts", len(tried))
    assert len(tried) == 6

    subprocess.run([sys.executable, "-c", "import timeout; timeout.ask()"], check=True)
    work("timeout", "TimeLimitExceeded")
    print("timeout: stopped")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            "/dev/null",
            "--rootdir",
            ".",
            "-p",
            "no:cacheprovider",
            "tested.py",
        ],
        check=True,
    )


main()
