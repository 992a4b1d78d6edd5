"""The caller's own standing: who they are, keys, limits, and the trail of what was done."""

from datetime import datetime
from typing import Annotated, Final

from fastapi import Query, Response

from cronty.jobs.answers import moment_text
from cronty.jobs.result import Err, Ok, Result
from cronty.store.key_store import KeyInfo
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant
from cronty.web.rest.given import KeyBody, KeyNumber
from cronty.web.rest.route import Answer, Asking, Asks, Room, reply
from cronty.web.rest.shapes_of_owners import Keys, MadeKey, Me, Standing, Trail

MOST_ENTRIES: Final = 1000

room = Room("owner")


@room.operation("GET", "/me", None, Me)
async def who_am_i(ask: Asks) -> Result[Answer]:
    """Whom this token stands for, and what it allows."""
    caller = ask.caller
    scopes = sorted(caller.scopes)
    return Ok({"owner": caller.owner, "scopes": scopes, "agent": caller.agent, "key_id": caller.key_number})


@room.operation("GET", "/limits", "read", Standing)
async def show_limits(ask: Asks) -> Result[Answer]:
    """How much this owner may have and do, and what is used of it."""
    return Ok(await ask.doors.scheduler.allowance.show(ask.owner))


@room.operation("GET", "/keys", "admin", Keys)
async def list_keys(ask: Asks) -> Result[Answer]:
    """The owner's API keys, never the keys themselves; revoked ones too."""
    return Ok({"keys": [_shown(key) for key in await ask.doors.identity.keys(ask.owner)]})


@room.operation("POST", "/keys", "admin", MadeKey, 413, status=201)
async def add_key(ask: Asks, body: KeyBody) -> Result[Answer] | Response:
    """Make an API key. It is shown this once, can be revoked, and allows no more than the token it is made with."""
    ends = await _end(ask, body.expires_at)
    if isinstance(ends, Err):
        return ends
    made = await ask.doors.identity.add_key(
        ask.owner, body.name, body.scopes, agent=body.agent, expires_at=ends, by=ask.caller
    )
    return made if isinstance(made, Err) else reply({"id": made.value.number, "key": made.value.text}, 201)


@room.operation("DELETE", "/keys/{key_id}", "admin", None, 404, status=204)
async def revoke_key(ask: Asks, key_id: KeyNumber) -> Result[Answer] | Response:
    """Take an API key back at once; the jobs it made pause."""
    number = int(key_id) if key_id.isascii() and key_id.isdecimal() and len(key_id) <= 18 else 0
    gone = await ask.doors.identity.revoke(ask.owner, number)
    if isinstance(gone, Err):
        return Err(gone.code, f"Key not found: {key_id}", gone.hint)
    return Response(status_code=204)


@room.operation("GET", "/trail", "admin", Trail)
async def read_trail(
    ask: Asks,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES, description="How many, up to 1000.", examples=[20])] = 100,
    before: Annotated[
        int | None, Query(ge=1, lt=2**63, description="The cursor of the page before.", examples=[7])
    ] = None,
) -> Result[Answer]:
    """Who did what with this owner's things, through which program, the latest first."""
    page = await ask.doors.trail.read(ask.owner, limit, before)
    entries = [{**entry, "at": _moment(entry["at"])} for entry in page.entries]
    cursor = entries[-1]["number"] if len(entries) == limit else None
    return Ok({"entries": entries, "cursor": cursor, "archived_through": page.archived_through})


async def _end(ask: Asking, said: str | None) -> datetime | Err | None:
    if said is None:
        return None
    now, zone_name = await ask.doors.scheduler.clock(ask.owner)
    try:
        ends = read_instant(said, zone_name, now)
    except BadTrigger as bad:
        return Err("bad_time", f"Invalid expires_at: {bad.message}", bad.hint)
    if ends <= now:
        return Err("bad_time", f'Invalid expires_at: "{said[:80]}" is past.', "Give a later moment, or none.")
    return ends


def _moment(at: object) -> str | None:
    return moment_text(at) if isinstance(at, datetime) else None


def _shown(key: KeyInfo) -> dict[str, object]:
    moments = ("created_at", "expires_at", "last_used_at", "revoked_at")
    shown: dict[str, object] = {"id": key.number, "name": key.name, "scopes": key.scopes, "agent": key.agent}
    return shown | {name: moment_text(getattr(key, name)) for name in moments}
