"""Lines of code for usual wishes, side by side: counts the programs of this folder and writes the table into its page.

A program is `<package>/<wish>.py`. A line counts unless it is blank or a comment; one formatter has formatted all.
"""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/how-to/coming-from.md"
BEGIN, END = "<!-- wishes: written by `python -m bench wishes` -->", "<!-- wishes end -->"

PACKAGES = {
    "cronty": "Cronty 0.1",
    "celery": "Celery 5.7 + beat",
    "apscheduler": "APScheduler 4.0.0a6",
    "procrastinate": "Procrastinate 3.10",
    "temporal": "Temporal (Python SDK 1.35)",
}
WISHES = {
    "weekday": "every weekday at 3:00 in Berlin",
    "later": "once, in two hours",
    "transaction": "now, in my own transaction",
    "retry": "five retries, with growing pauses",
    "timeout": "a timeout",
    "one_at_once": "never two of a schedule at once",
    "five_at_once": "at most five of a task at once, on all machines",
    "change": "change a schedule in code, drop another, deploy",
    "tested": "test it without sleeping",
    "why": "see why a run didn't happen",
    "worker": "a worker, once for the program",
}
COMMAND = "a command"
CANNOT = {
    ("cronty", "worker"): (COMMAND, "`cronty work shop:cronty`. It plans, performs and brings the schedules in line."),
    ("celery", "worker"): (COMMAND, "Two: `celery -A shop worker`, and one `celery -A shop beat` for the schedules."),
    ("procrastinate", "worker"): (
        COMMAND,
        "`procrastinate --app=shop.app worker`, after `procrastinate schema --apply`.",
    ),
    ("celery", "transaction"): (
        "no, another store",
        "The broker isn't your database. With Django, `delay_on_commit` sends after the commit; a crash between the "
        "two loses it.",
    ),
    ("apscheduler", "transaction"): (
        "no connection parameter",
        "`add_job` and `add_schedule` take no connection; the data store opens its own.",
    ),
    ("temporal", "transaction"): ("no, another store", "The server isn't your database; people write an outbox."),
    ("celery", "one_at_once"): (
        "no such setting",
        "Beat sends whether or not the last one has ended. A lock of your own, or a further package, is the usual way.",
    ),
    ("celery", "five_at_once"): (
        "no such setting",
        "`--concurrency` is of one worker, so the usual way is a queue that one worker serves.",
    ),
    ("procrastinate", "five_at_once"): (
        "no such setting",
        "A `lock` lets one run at a time. `concurrency` is of one worker, so the usual way is a queue that one serves.",
    ),
    ("temporal", "five_at_once"): (
        "no such setting",
        "`max_concurrent_activities` is of one worker. Over all of them a task queue has only a rate.",
    ),
    ("celery", "why"): (
        "no record kept",
        "Results and events are of tasks that were sent. What beat didn't send while it was down is nowhere.",
    ),
}
"""Where there is no program to count: what the cell says, and why."""
NOTES = {
    ("celery", "weekday"): "One time zone for the whole app.",
    (
        "celery",
        "later",
    ): ("With Redis, raise `visibility_timeout` (an hour) above the longest delay, or it may be performed twice."),
    ("celery", "timeout"): "In the pool of processes (`prefork`, the default); threads aren't stopped.",
    ("celery", "change"): "Restart the one beat; it forgets what has left the code.",
    ("celery", "tested"): "The rule and the task, each by itself; no clock moves the two together.",
    ("apscheduler", "retry"): "By tenacity, inside one run; a crash ends the retries. APScheduler has none of its own.",
    ("apscheduler", "timeout"): "By asyncio; there is no setting, and a plain function isn't stopped.",
    ("apscheduler", "one_at_once"): "It waits for the first one to end.",
    ("apscheduler", "tested"): "The trigger and the function, each by itself; no clock moves the two together.",
    ("apscheduler", "why"): "As events, while this program listens; what wasn't heard is lost.",
    ("procrastinate", "weekday"): "Periods are in UTC, so the task looks at the clock itself.",
    ("procrastinate", "timeout"): "By asyncio; there is no setting, and a plain function isn't stopped.",
    ("procrastinate", "one_at_once"): "It waits for the first one to end.",
    ("procrastinate", "tested"): "The task on a store in memory; the period itself isn't tested.",
    (
        "procrastinate",
        "why",
    ): "Of jobs that were made. One that passed while no worker ran is in the debug log at most.",
    (
        "temporal",
        "change",
    ): "`list_schedules` is eventually consistent, so it may drop an old one only at the next deploy.",
    ("temporal", "tested"): "The workflow; the test server that skips time has no schedules.",
    ("temporal", "why"): "How many were left out and the last ten that started; not which were left out.",
}


def lines(text: str) -> int:
    stripped = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in stripped)


def program(package: str, wish: str) -> Path:
    return HERE / package / f"{wish}.py"


def table() -> str:
    notes: list[str] = []
    rows = ["| | " + " | ".join(PACKAGES.values()) + " |", "| --- |" + " ---: |" * len(PACKAGES)]
    for wish, words in WISHES.items():
        cells = [_cell(package, wish, notes) for package in PACKAGES]
        rows.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join([*rows, "", *(f"{number}. {note}" for number, note in enumerate(notes, 1))])


def _cell(package: str, wish: str, notes: list[str]) -> str:
    cannot, note = CANNOT.get((package, wish), ("", NOTES.get((package, wish), "")))
    said = cannot or f"{lines(program(package, wish).read_text(encoding='utf-8'))}"
    if not note:
        return said
    if note not in notes:
        notes.append(note)
    return f"{said} <sup>{notes.index(note) + 1}</sup>"


def written(page: str) -> str:
    """The page with the table as it is counted now."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return between.sub(lambda _: f"{BEGIN}\n\n{table()}\n\n{END}", page)


def main() -> None:
    print(table())
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
