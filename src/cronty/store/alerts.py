"""Alerts, raised in the transaction of what they tell of: none is lost or comes twice. An engine makes jobs of them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from cronty.jobs.alerts import LIMIT_REACHED, Alert, Change, Health, alert_about
from cronty.store.database import Connection, Row, columns, query


class Held(NamedTuple):
    """An owner that a limit holds back: by which of its jobs (0: none), why, and where else to say it ("": nowhere)."""

    owner_id: int
    job_id: int
    why: str
    topic: str


async def tell(connection: Connection, now: datetime | None, alerts: Sequence[Alert]) -> None:
    """Have them sent when the transaction has ended."""
    if alerts:
        rows = [(one.owner_id, one.job_id, one.name, one.arguments_json()) for one in alerts]
        await connection.fetchval(query("raise_alerts"), now, *columns(rows, 4))


async def tell_of_changes(
    connection: Connection,
    now: datetime | None,
    changes: Iterable[Change],
    topic_of: Callable[[int], str] = lambda _: "",
) -> None:
    """Tell owners of what became of their jobs, as far as they want to hear of it."""
    found = (alert_about(one, topic_of(one.owner_id)) for one in changes)
    await tell(connection, now, [alert for alert in found if alert is not None])


async def tell_held(connection: Connection, now: datetime, held: Sequence[Held]) -> None:
    """Say once that a limit holds owners back: in the trail, and where they want to hear of it."""
    await connection.execute(query("note_held"), now, *columns([one[:3] for one in held], 3))
    alerts = [Alert(one.owner_id, one.job_id, one.topic, LIMIT_REACHED, one.why) for one in held if one.topic]
    await tell(connection, now, alerts)


async def change_jobs(connection: Connection, now: datetime | None, name: str, *arguments: object) -> list[Row]:
    """Run a statement that answers which jobs it changed (`id` null: none), and tell their owners of it."""
    rows = await connection.fetch(query(name), *arguments)
    changed = {row["id"]: row for row in rows if row["id"] is not None}
    await tell_of_changes(connection, now, map(change_of, changed.values()))
    return rows


def change_of(row: Row) -> Change:
    """A row of a statement that changed a job, with what was before it."""
    before = Health(row["state_before"], row["failures_before"], row["error_before"])
    after = Health(row["state"], row["failures_in_row"], row["last_error"], row["reason"])
    return Change(row["id"], row["owner_id"], row["name"], row["policy"], before, after)
