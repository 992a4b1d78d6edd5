"""One request to the dashboard: its caller, what the caller may do, and the page that answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cronty.contract.caller import Caller
from cronty.contract.codes import status_of
from cronty.contract.operation import Operation
from cronty.contract.operations import ALL, AnyOperation
from cronty.contract.result import Err, Result
from cronty.jobs.action import Action
from cronty.scheduler.permission import lacks, not_permitted
from cronty.scheduler.service import Service, StoreUnavailable
from cronty.web.callers import FindCaller
from cronty.web.dashboard.pages import render
from cronty.web.dashboard.prefix import below, inner_path, prefix_of
from cronty.web.dashboard.security import (
    BROWSER,
    HEADERS,
    SESSION,
    YEAR,
    Form,
    TooLarge,
    csrf_token,
    from_our_pages,
    new_browser,
    read_form,
    set_cookie,
)
from cronty.web.sessions import Sessions

THEMES: Final = ("light", "dark")


class ErrorPage(Exception):
    """An `Err` to show as a whole page."""

    def __init__(self, err: Err) -> None:
        super().__init__(err.message)
        self.err = err


@dataclass
class Visit:
    """`session` is the token that the visitor has signed in with, if they have."""

    request: Request
    service: Service
    caller: Caller
    browser: str
    session: str | None
    form: Form = field(default_factory=lambda: Form([]))
    waiting: int = 0
    """How many prompts wait for an agent, once the clock was read; 0 if the caller may not know."""
    zone: str | None = None
    _clock: tuple[datetime, str] | None = None

    @property
    def owner(self) -> str:
        return self.caller.owner

    @property
    def auth(self) -> bool:
        return self.session is not None

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    async def clock(self) -> tuple[datetime, str]:
        """The time and the owner's zone, read once a request, with the count that every page shows."""
        if self._clock is not None:
            return self._clock
        counted = self.caller.may("prompts")
        clock, self.waiting = await asyncio.gather(
            self.service.scheduler.clock(self.caller),
            self.service.overview.waiting_prompts(self.caller) if counted else _none(),
        )
        self._clock, self.zone = clock, clock[1]
        return clock

    async def ask[R, A](self, operation: Operation[..., R, A], request: R) -> Result[A]:
        return await self.service.answer(operation, self.caller, request)

    def may(self, operation: str, task: str | None = None) -> bool:
        """Whether the caller may ask for this, for a job that runs this task: a page offers nothing else."""
        return not_permitted(ALL[operation], self.caller, None if task is None else Action(task).kind) is None

    def page(self, template: str, status: int = 200, /, **facts: object) -> Response:
        return page(self.request, template, status, self, **facts)

    def go(self, path: str) -> Response:
        return RedirectResponse(prefix_of(self.request) + path, status_code=303)


async def _none() -> int:
    return 0


type Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Gate:
    """Wraps every handler: finds the caller, checks forms and scopes, renders errors."""

    service: Callable[[], Service]
    find_caller: FindCaller
    sessions: Sessions

    def open(
        self, handler: Handler, operation: AnyOperation | None = None, *, public: bool = False
    ) -> Callable[..., object]:
        """An endpoint around a handler that asks for this operation. `public` ones need no sign-in."""

        async def endpoint(request: Request) -> Response:
            response = await self._answer(request, handler, operation, public=public)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers.setdefault("cache-control", "no-store")
            return response

        return endpoint

    async def _answer(
        self, request: Request, handler: Handler, operation: AnyOperation | None, *, public: bool
    ) -> Response:
        browser = request.cookies.get(BROWSER)
        visit: Visit | None = None
        try:
            known = await self._visit(request, browser or new_browser(), public=public)
            if isinstance(known, Response):
                return known
            visit = known
            if request.method == "POST":
                visit.form = await read_form(request)
                if not from_our_pages(request, visit.form, browser, visit.session):
                    return visit.page("error.html", 403, err=_FOREIGN)
            if not public and (refused := _not_permitted(visit.caller, operation)):
                raise ErrorPage(refused)
            response = await handler(visit)
        except ErrorPage as refused:
            return page(request, "error.html", status_of(refused.err.code), visit, err=refused.err)
        except StoreUnavailable:
            return page(request, "error.html", 503, visit, err=_AWAY)
        except TooLarge:
            return page(request, "error.html", 413, visit, err=_LARGE)
        if browser is None:
            set_cookie(request, response, BROWSER, visit.browser, lasts=YEAR)
        return response

    async def _visit(self, request: Request, browser: str, *, public: bool) -> Visit | Response:
        """The key is checked on every request, so a revoked one stops working at once."""
        cookie = request.cookies.get(SESSION)
        session = None if cookie is None else self.sessions.open(cookie)
        known = await self.find_caller(session)
        if not isinstance(known, Err):
            return Visit(request, self.service(), _here(known.value), browser, session)
        if public:
            return Visit(request, self.service(), SIGNED_OUT, browser, None)
        return _to_sign_in(request)


def _not_permitted(caller: Caller, operation: AnyOperation | None) -> Err | None:
    # A page shows more than what was asked for, also one that refuses a change.
    wrong = lacks(caller, "read", "The dashboard")
    return wrong or (None if operation is None else not_permitted(operation, caller))


def _here(caller: Caller) -> Caller:
    return replace(caller, surface="dashboard")


SIGNED_OUT: Final = Caller("", frozenset())
_FOREIGN: Final = Err(
    "foreign_origin",
    "This change didn't come from a page of this dashboard.",
    "Go back, reload the page and try again.",
)
_AWAY: Final = Err(
    "unavailable",
    "The database can't be reached right now.",
    "Nothing is lost: what was planned is still planned. This page works again as soon as the database does.",
)
_LARGE: Final = Err("too_large", "The form is too large.", "Use the API for very large arguments.")


def _to_sign_in(request: Request) -> Response:
    where = "/sign-in"
    if request.method == "GET" and "hx-request" not in request.headers:
        path = _asked_for(request)
        where += "" if path == "/" else f"?next={quote(path, safe='/')}"
    where = prefix_of(request) + where
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"hx-redirect": where})
    return RedirectResponse(where, status_code=303)


def page(request: Request, template: str, status: int, visit: Visit | None, /, **facts: object) -> Response:
    theme = request.cookies.get("cronty_theme")
    known: dict[str, object] = {
        "theme": theme if theme in THEMES else None,
        "visit": visit,
        "csrf": csrf_token(visit.browser, visit.session) if visit else "",
        "path": inner_path(request),
        "here": _asked_for(request),
        "prefix": prefix_of(request),
        "err": None,
        "message": None,
    }
    return HTMLResponse(below(prefix_of(request), render(template, **{**known, **facts})), status)


def _asked_for(request: Request) -> str:
    return inner_path(request) + (f"?{request.url.query}" if request.url.query else "")
