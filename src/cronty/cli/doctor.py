"""`cronty doctor`: is all well?"""

import asyncio
from datetime import UTC, datetime

import typer

from cronty.cli.saying import REFUSED, Column, Json, print_json, refuse, show_rows
from cronty.settings import Settings
from cronty.store.health import Health, look
from cronty.store.local import start_local_server
from cronty.store.migrate import OLDEST_POSTGRES, schema_state
from cronty.timing import tzdata_version


def doctor(json: Json = False) -> None:
    """Look at the database, the clock, time zones, workers and overdue slots; exit 1 if something is wrong."""
    settings = Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
    url = settings.database_url or start_local_server(settings.data_dir)
    if problem := asyncio.run(schema_state(url)).problem():
        refuse(str(problem), json=json)
    findings = _findings(asyncio.run(look(url)), datetime.now(UTC))
    good = all(fine for fine, _, _ in findings)
    if json:
        found = [{"good": fine, "what": what, "said": said} for fine, what, said in findings]
        print_json({"good": good, "findings": found})
    else:
        rows = [("good" if fine else "wrong", what, said) for fine, what, said in findings]
        styles = ["green" if fine else "red" for fine, _, _ in findings]
        columns = [Column("verdict", whole=True), Column("looked at", whole=True), Column("seen", fold=True)]
        show_rows(columns, rows, styles=styles)
    if not good:
        raise typer.Exit(REFUSED)


def _findings(health: Health, here: datetime) -> list[tuple[bool, str, str]]:
    """Each thing looked at: whether it is good, what it is, and what was seen."""
    offset = (health.now - here).total_seconds()
    late = (health.now - health.oldest_overdue).total_seconds() if health.oldest_overdue else 0.0
    mine = tzdata_version()
    others = sorted(set(health.tzdata or []) - {mine})
    stale = ", ".join(health.stale_tasks or [])
    return [
        (health.version_number >= OLDEST_POSTGRES, "database", f"PostgreSQL {health.version}"),
        (abs(offset) < 1, "clock", f"this machine is {offset:+.3f} s from the database"),
        (
            not others,
            "time zones",
            f"tzdata {mine}" + (f"; workers use {', '.join(others)}" if others else ""),
        ),
        (
            health.workers > 0,
            "workers",
            f"{health.workers} alive" if health.workers else "none alive: nothing will fire",
        ),
        (
            not health.dead_workers,
            "leases",
            f"{health.dead_workers} worker(s) gone and not cleaned up for a minute"
            if health.dead_workers
            else "none overdue",
        ),
        (late < 60, "oldest overdue slot", f"{late:.1f} s late" if health.oldest_overdue else "none"),
        (
            not health.stale_queue,
            "queue",
            f"{health.stale_queue} run(s) due for over a minute; no worker takes: {stale}"
            if health.stale_queue
            else "nothing waits too long",
        ),
        (
            not health.set_aside,
            "set aside",
            f"{health.set_aside} job(s) can't be computed any more" if health.set_aside else "none",
        ),
        (
            health.walled,
            "walls",
            "row-level security keeps owners apart"
            if health.walled
            else "off, because this user may not make roles: create cronty_app and cronty_engine (nologin), grant both "
            "to it, and run `cronty migrate`",
        ),
    ]
