"""Moves jobs whose next slot is another one by new rules: those of a zone, or of a list of days off."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cronty.contract.caller import Caller
from cronty.store.audit_store import who
from cronty.store.database import Connection, Row, columns, query
from cronty.store.day_lists import read_changes, read_triggers, within
from cronty.timing import Broken, Trigger, with_changes


class Move(NamedTuple):
    """A job whose next slot has moved."""

    job_id: int
    owner_id: int
    old_slot: datetime
    new_slot: datetime | None
    last_slot: datetime | None


async def move_jobs(
    connection: Connection, now: datetime | None, job_ids: Sequence[int], what: str, caller: Caller | None = None
) -> int:
    """Compute the next slots of these jobs, which are locked, again; how many have another one. `what` is for the
    trail."""
    rows = await connection.fetch(query("retime_pick"), job_ids)
    triggers = await read_triggers(within(connection), [(row["owner_id"], row["trigger"]) for row in rows])
    moves: list[Move] = []
    for row, trigger in zip(rows, triggers, strict=True):
        await asyncio.sleep(0)  # others' turn: a search may go through years
        if move := _move(row, trigger):
            moves.append(move)
    if moves:
        actor = (None, None) if caller is None else who(caller)
        await connection.execute(query("retime_save"), now, *columns(moves, 5), what, *actor)
    return len(moves)


def _move(row: Row, trigger: Trigger) -> Move | None:
    if isinstance(trigger, Broken):
        return None  # the job is set aside when it is due
    slot = with_changes(trigger, read_changes(row["trigger"])).after(row["computed_after"])
    if slot is not None and row["ends_at"] is not None and slot > row["ends_at"]:
        slot = None
    if slot == row["slot"]:
        return None
    return Move(row["job_id"], row["owner_id"], row["slot"], slot, row["last_slot"])
