"""The settings page: time zone, channels, agents, keys and limits."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, cast

from starlette.responses import Response

from cronty.contract.answers_of_owner import NewKey
from cronty.contract.caller import MEANINGS, SCOPES
from cronty.contract.codes import status_of
from cronty.contract.operations import Operations
from cronty.contract.requests import AddKey, RemoveChannel, RevokeKey, SaveChannel, SetZone, TryChannel
from cronty.contract.result import Err
from cronty.scheduler.identity import KeyInfo
from cronty.timing.zones import zone_names
from cronty.web.dashboard.first import CLIENTS, SERVER, topic_of
from cronty.web.dashboard.formats import number
from cronty.web.dashboard.qr import draw_qr
from cronty.web.dashboard.security import local_path
from cronty.web.dashboard.visit import Visit

MAX_KEYS: Final = 40
LASTS: Final = {"30": "30 days", "90": "90 days", "365": "a year", "": "until it is revoked"}
MESSAGES: Final = {
    "added": "The channel is saved. Its address is encrypted and never shown again.",
    "removed": "The channel is removed. Messages for it fail from now on.",
    "sent": "A test message is on its way.",
    "zone": "Your time zone is saved. Jobs you already have keep theirs.",
    "revoked": "The key is revoked. The jobs that depend on it are paused.",
}
_COUNTED: Final = (
    ("jobs", "Jobs", "jobs"),
    ("stored_bytes", "Stored", "stored_bytes"),
    ("runs_per_hour", "Runs this hour", "runs"),
    ("pushes_per_day", "Messages today", "pushes"),
)


async def show_settings(visit: Visit, problem: Err | None = None, made: NewKey | None = None) -> Response:
    admin = visit.caller.may("admin")
    service = visit.service
    shown = await service.scheduler.allowance.show(visit.owner)
    channels = await service.channels.list(visit.caller) if admin else None
    keys = await service.identity.keys(visit.caller) if admin else []
    now, zone_name = await visit.clock()
    limits = shown["limits"]
    used = cast("dict[str, int]", shown["used"])
    routed = [task.name for task in await service.scheduler.list_tasks(visit.caller) if task.name.startswith("prompt:")]
    return visit.page(
        "settings.html",
        200 if problem is None else status_of(problem.code),
        now=now,
        zone=zone_name,
        admin=admin,
        # Hourly and daily use is only counted if it is limited.
        meters=[_meter(limits, used, *one) for one in _COUNTED if limits[one[0]] or one[2] == one[0]],
        limits=limits,
        channels=[] if channels is None or isinstance(channels, Err) else channels.value,
        agents=_agents(routed, keys, used, limits),
        keys=sorted(keys, key=lambda key: (key.revoked_at is not None, -key.number))[:MAX_KEYS],
        scopes=SCOPES,
        scope_meanings=MEANINGS,
        lasts=LASTS,
        zones=zone_names(),
        may_set_zone=visit.may("set_zone"),
        made=made,
        may=may,
        clients=CLIENTS,
        topic=(topic := topic_of(visit)),
        server=SERVER,
        code=draw_qr(f"https://{SERVER}/{topic}"),
        err=problem,
        message=MESSAGES.get(visit.query.get("done", "")),
    )


_MAY: Final[Mapping[str, str]] = {
    "read": "look", "schedule": "schedule", "run": "run", "prompts": "answer prompts", "admin": "administer",
}  # fmt: skip


def may(scopes: Sequence[str]) -> str:
    """What a key may do, in words: `look and schedule`."""
    words = [_MAY.get(scope, scope) for scope in scopes]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "do nothing"


def _meter(limits: dict[str, object], used: dict[str, int], limit: str, label: str, what: str) -> dict[str, object]:
    """`share` in percent; None without a limit."""
    most, now_used = cast("int", limits[limit]), used.get(what, 0)
    format_ = _bytes if limit == "stored_bytes" else number
    share = min(100.0, 100 * now_used / most) if most else None
    return {"label": label, "used": format_(now_used), "most": format_(most) if most else None, "share": share}


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GB"


def _agents(
    routed: list[str], keys: list[KeyInfo], used: dict[str, int], limits: dict[str, object]
) -> list[dict[str, object]]:
    """Agents that a worker wakes, that hold a key, or that were woken this hour."""
    woken = {what.removeprefix("wakes ").strip(): count for what, count in used.items() if what.startswith("wakes")}
    by_worker = {name.removeprefix("prompt:") for name in routed}
    held = {key.agent for key in keys if key.agent and key.revoked_at is None}
    return [
        {
            "name": name or "any agent",
            "how": "woken by a worker" if name in by_worker else "reads the inbox",
            "keys": sum(key.agent == name and key.revoked_at is None for key in keys) if name else 0,
            "wakes": woken.get(name, 0),
            "most": limits["wakes_per_hour"],
        }
        for name in sorted(by_worker | held | woken.keys())
    ][:30]


# -- changing ------------------------------------------------------------------------------------------------------


async def set_zone(visit: Visit) -> Response:
    request = SetZone(visit.form.text("zone"))
    done = await visit.ask(Operations.set_zone, request)
    return await show_settings(visit, done) if isinstance(done, Err) else visit.go("/settings?done=zone")


async def suggest_zone(visit: Visit) -> Response:
    """What the browser says; it counts if nobody has set a zone yet, and then the page is to be shown again."""
    done = await visit.service.scheduler.suggest_zone(visit.caller, visit.form.text("zone"))
    return Response(status_code=201 if done else 204)


async def add_channel(visit: Visit) -> Response:
    name, then = visit.form.text("name"), visit.form.get("next")
    added = await visit.ask(Operations.save_channel, SaveChannel(name, visit.form.text("url")))
    if isinstance(added, Err):
        return await show_settings(visit, added)
    if then is None:
        return visit.go("/settings?done=added")
    sent = await visit.ask(Operations.try_channel, TryChannel(name))
    return visit.go(f"{local_path(then)}?done={'added' if isinstance(sent, Err) else 'sent'}")


async def change_channel(visit: Visit) -> Response:
    if "test" in visit.form:
        result, done = await visit.ask(Operations.try_channel, TryChannel(visit.form["test"])), "sent"
    else:
        removed = RemoveChannel(visit.form.get("remove", ""))
        result, done = await visit.ask(Operations.remove_channel, removed), "removed"
    return await show_settings(visit, result) if isinstance(result, Err) else visit.go(f"/settings?done={done}")


async def make_key(visit: Visit) -> Response:
    """Make a key; this page is the only one that shows it."""
    form = visit.form
    days = form.get("lasts", "90")
    now, _ = await visit.clock()
    expires_at = now + timedelta(days=int(days)) if days in LASTS and days else None
    agent, scopes = form.text("agent")[:100] or None, form.lists.get("scope", [])
    made = await visit.ask(Operations.add_key, AddKey(form.text("name"), scopes, agent=agent, expires_at=expires_at))
    if isinstance(made, Err):
        return await show_settings(visit, made)
    return await show_settings(visit, made=made.value)


async def revoke_key(visit: Visit) -> Response:
    text = visit.form.get("key", "")
    number = int(text) if text.isdecimal() and len(text) < 19 else 0
    revoked = await visit.ask(Operations.revoke_key, RevokeKey(number))
    return await show_settings(visit, revoked) if isinstance(revoked, Err) else visit.go("/settings?done=revoked")
