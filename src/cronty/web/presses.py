"""The links behind the buttons of a reminder. Looking at one changes nothing: mail scanners look at every link."""

from collections.abc import Callable
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from cronty.contract.codes import status_of
from cronty.contract.result import Err
from cronty.jobs.press import LABELS, PATH, Press
from cronty.scheduler.service import AWAY, Service, StoreUnavailable

_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # not `no-referrer`: then a browser sends no origin with the form
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}
_WHAT: Final = {
    "done": "Mark this reminder as done?",
    "snooze": "Be reminded again in 10 minutes?",
    "tomorrow": "Be reminded again tomorrow at 9:00, in your time zone?",
}


def press_routes(service: Callable[[], Service], count: Callable[[str], None]) -> list[Route]:
    """The link is the key, so nobody has to sign in. `count` counts a request for the owner whose link it is."""

    async def counted(request: Request) -> str:
        link = request.path_params["link"]
        if (owner := await service().presses.owner_of(link)) is not None:
            count(owner)
        return link

    async def look(request: Request) -> Response:
        try:
            found = await service().presses.look(await counted(request))
        except StoreUnavailable:
            return _refused(AWAY)
        if isinstance(found, Err):
            return _refused(found)
        said = found.value
        if not isinstance(said, Press):
            return _page(f"<p>{escape(said.words)}</p>")
        button = f'<form method="post"><button>{escape(LABELS[said.act])}</button></form>'
        return _page(f"<p>{escape(_WHAT[said.act])}</p>{button}")

    async def press(request: Request) -> Response:
        try:
            found = await service().presses.press(await counted(request))
        except StoreUnavailable:
            return _refused(AWAY)
        return _refused(found) if isinstance(found, Err) else _page(f"<p>{escape(found.value.words)}</p>")

    path = PATH + "{link}"
    return [Route(path, look, methods=["GET"]), Route(path, press, methods=["POST"])]


def _refused(err: Err) -> Response:
    return _page(f"<p>{escape(err.message)} {escape(err.hint)}</p>", status_of(err.code))


def _page(body: str, status: int = 200) -> Response:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Cronty</title>'
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>', status, _HEADERS
    )
