"""A dashboard over a real database, and a browser reduced to what matters: cookies, forms, where they come from."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import override

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from cronty import Cronty
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok, Result
from cronty.jobs.job import Job
from cronty.scheduler import Service
from cronty.web.callers import FindCaller, LocalKey, by_token
from cronty.web.dashboard import dashboard_routes
from cronty.web.hosts import Hosts
from cronty.web.sessions import Sessions
from tests.conftest import HandClock
from tests.web.demo import SECRET_KEY

HOST = "cronty.test"
ORIGIN = f"http://{HOST}"
TAGS = frozenset({
    "html", "head", "meta", "title", "link", "script", "body", "a", "svg", "defs", "g", "circle", "path", "pattern",
    "rect", "use", "line", "text", "div", "header", "span", "nav", "form", "input", "button", "p", "main", "h1", "h2",
    "ul", "ol", "li", "dl", "dt", "dd", "b", "time", "label", "select", "option", "optgroup", "noscript", "section",
    "details", "summary", "hr", "pre", "code", "fieldset", "legend", "textarea", "datalist", "dialog", "kbd", "table",
    "thead", "tbody", "tr", "th", "td", "symbol", "i",
})  # fmt: skip
"""Every element there is on our pages."""


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]


class Page(HTMLParser):
    """A page as a browser would take it apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.words: list[str] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    @override
    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        found = [one.attributes for one in self.elements if one.tag == tag]
        return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]

    def flaws(self) -> list[str]:
        """Whatever isn't ours: elements, scripts and styles in the page, addresses elsewhere."""
        found: list[str] = []
        for one in self.elements:
            attributes = {name: value or "" for name, value in one.attributes.items()}
            if one.tag not in TAGS:
                found.append(f"<{one.tag}>")
            found += [f"{one.tag} {name}" for name in attributes if name.startswith(("on", "hx-on", "style", "srcdoc"))]
            for name in ("href", "src", "action", "hx-get", "formaction"):
                target = attributes.get(name, "/")
                if not target.startswith(("/", "#")) or target.startswith("//"):
                    found.append(f"{one.tag} {name}={target[:40]}")
            if one.tag == "script" and not attributes.get("src", "").startswith("/static/"):
                found.append("script in the page")
        return found


@dataclass
class Browser:
    """It keeps cookies and fills in the token of the last page's forms, as a browser does."""

    client: httpx2.AsyncClient
    token: str = ""
    pages: list[httpx2.Response] = field(default_factory=list[httpx2.Response])

    async def get(self, path: str, status: int = 200, **headers: str) -> Page:
        answer = await self.client.get(path, headers=headers)
        assert answer.status_code == status, (path, answer.status_code, answer.text[:2000])
        return self._keep(answer)

    async def post(self, path: str, status: int = 303, /, **fields: str | Sequence[str]) -> Page:
        answer = await self.send(path, **fields)
        assert answer.status_code == status, (path, answer.status_code, Page(answer.text).text[:2000])
        return self._keep(answer)

    async def send(self, path: str, /, **fields: str | Sequence[str]) -> httpx2.Response:
        """A form, as it is; `from_` in place of `from`."""
        if not self.token:
            await self.get("/settings")
        data = {"csrf": self.token, **{name.rstrip("_"): value for name, value in fields.items()}}
        return await self.client.post(path, data=data, headers={"origin": ORIGIN, "sec-fetch-site": "same-origin"})

    @property
    def went_to(self) -> str:
        return self.pages[-1].headers["location"]

    def _keep(self, answer: httpx2.Response) -> Page:
        self.pages.append(answer)
        if found := re.search(r'name="csrf" value="([0-9a-f]{64})"', answer.text):
            self.token = found[1]
        return Page(answer.text)


def application(service: Callable[[], Service], who: FindCaller, local: LocalKey | None = None) -> Starlette:
    """The dashboard alone, behind the same fence as the whole."""
    routes = dashboard_routes(service, who, Sessions(), local)
    return Starlette(routes=routes, middleware=[Middleware(Hosts, [HOST])])


@dataclass
class House:
    """An open Cronty of ann's, with browsers at will."""

    cronty: Cronty

    @asynccontextmanager
    async def visited(self, who: FindCaller, local: LocalKey | None = None) -> AsyncGenerator[Browser]:
        app = application(lambda: self.cronty.service, who, local)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN) as client:
            yield Browser(client)

    def locally(self, owner: str = "ann") -> FindCaller:
        """Whoever comes is let in, so that a test of a page needn't sign in first."""

        async def find_caller(_token: str | None) -> Result[Caller]:
            return Ok(local_caller(owner))

        return find_caller

    def by_key(self) -> FindCaller:
        return by_token(lambda: self.cronty.service.identity)

    async def key(self, owner: str, *scopes: str) -> str:
        made = await self.cronty.service.identity.add_key(local_caller(owner), "a key", scopes)
        assert isinstance(made, Ok), made
        return made.value.text

    async def job(self, name: str = "a job", owner: str = "ann", task: str = "note", **rest: object) -> Job:
        given = {"trigger_type": "interval", "trigger_config": {"minutes": 5}, **rest}
        kwargs = given.pop("kwargs", {})
        request = ScheduleJob(name, task, kwargs=kwargs, **given)  # pyright: ignore[reportArgumentType]
        made = await self.cronty.service.scheduler.schedule(local_caller(owner), request)
        assert isinstance(made, Ok), made
        return made.value


@pytest.fixture
async def house(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[House]:
    monkeypatch.setenv("CRONTY_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", "127.0.0.1:9")
    async with Cronty(url, owner="ann", run_jobs=False, clock=clock) as cronty:
        yield House(cronty)


@pytest.fixture
async def ann(house: House) -> AsyncGenerator[Browser]:
    """Whoever sits at the machine."""
    async with house.visited(house.locally()) as browser:
        yield browser
