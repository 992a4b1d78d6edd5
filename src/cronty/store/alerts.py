"""Raises alerts, in the transaction that causes them: none is lost or sent twice. An engine turns them into jobs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import NamedTuple

from cronty.jobs.alerts import LIMIT_REACHED, Alert, Change, JobHealth, alert_about
from cronty.jobs.away import Away, told
from cronty.store.database import Connection, Row, columns, query


class Held(NamedTuple):
    """An owner that reached a limit: with which job (0: none), why, and the topic for the alert ("": none)."""

    owner_id: int
    job_id: int
    why: str
    topic: str


async def raise_alerts(connection: Connection, now: datetime | None, alerts: Sequence[Alert]) -> None:
    """Store alerts; they are sent after the transaction has committed."""
    if alerts:
        rows = [(one.owner_id, one.job_id, one.name, one.arguments_json(), one.task) for one in alerts]
        await connection.fetchval(query("raise_alerts"), now, *columns(rows, 5))


async def tell_of_changes(
    connection: Connection,
    now: datetime | None,
    changes: Iterable[Change],
    topic_of: Callable[[int], str] = lambda _: "",
) -> None:
    """Raise the alerts that owners want about changes of their jobs."""
    found = (alert_about(one, topic_of(one.owner_id)) for one in changes)
    await raise_alerts(connection, now, [alert for alert in found if alert is not None])


async def tell_held(connection: Connection, now: datetime, held: Sequence[Held]) -> None:
    """Record in the trail that owners reached a limit, and raise an alert for those that want one."""
    await connection.execute(query("note_held"), now, *columns([one[:3] for one in held], 3))
    alerts = [Alert(one.owner_id, one.job_id, one.topic, LIMIT_REACHED, one.why) for one in held if one.topic]
    await raise_alerts(connection, now, alerts)


async def tell_absences(
    connection: Connection,
    now: datetime | None,
    quiet: float,
    most: int,
    topic_of: Callable[[int], str],
    default_zone: str,
) -> None:
    """Raise an alert for each owner whose slots passed while nothing was running.

    It goes to the topic of the owner's alerts, else to its first channel, else to its inbox.
    """

    def alert_of(row: Row) -> Alert | None:
        away = Away(**{one.name: row[one.name] for one in fields(Away)})
        return told(away, topic_of(away.owner_id) or row["channel"] or "", row["zone"] or default_zone)

    rows = await connection.fetch(query("take_absences"), now, quiet, most)
    await raise_alerts(connection, now, [alert for row in rows if (alert := alert_of(row)) is not None])


async def change_jobs(connection: Connection, now: datetime | None, name: str, *arguments: object) -> list[Row]:
    """Run a statement that returns the jobs it changed (`id` is null if none), and raise the alerts about them."""
    rows = await connection.fetch(query(name), *arguments)
    changed = {row["id"]: row for row in rows if row["id"] is not None}
    await tell_of_changes(connection, now, map(change_of, changed.values()))
    return rows


def change_of(row: Row) -> Change:
    """The change in a row of such a statement, which has the values from before and after."""
    before = JobHealth(row["state_before"], row["failures_before"], row["error_before"])
    after = JobHealth(row["state"], row["failures_in_row"], row["last_error"], row["reason"])
    return Change(row["id"], row["owner_id"], row["name"], row["policy"], before, after)
