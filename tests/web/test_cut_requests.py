"""Requests that are cut, too large or of too many fields are nobody's fault: no traceback, no 500."""

import logging

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.types import Message

from cronty import Cronty
from cronty.asgi import http_app
from cronty.mcp.server import GROUPS
from cronty.web.rest.request import MAX_BODY
from tests.web.conftest import PLACE
from tests.web.test_under_way import key_for

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


@pytest.fixture
def app(cronty: Cronty) -> Starlette:
    return http_app(cronty, GROUPS, ["here"])


async def cut(app: Starlette, path: str, headers: dict[str, str], first: bytes) -> list[Message]:
    """A request whose caller leaves after the first bytes of its body; what was sent in answer."""
    to_come: list[Message] = [{"type": "http.request", "body": first, "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Message] = []

    async def receive() -> Message:
        return to_come.pop(0) if len(to_come) > 1 else to_come[0]

    async def send(message: Message) -> None:
        sent.append(message)

    known = {"host": "here", "origin": "http://here", "content-length": "1000"} | headers
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path, "root_path": "",
        "raw_path": path.encode(), "query_string": b"", "client": ("127.0.0.1", 1), "server": ("here", 80),
        "headers": [(name.encode(), value.encode()) for name, value in known.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    return sent


async def test_a_request_that_is_cut_leaves_no_trace_in_the_log(
    cronty: Cronty, app: Starlette, caplog: pytest.LogCaptureFixture
) -> None:
    bearer, _ = await key_for(cronty, "ann", "read")
    both = {"accept": "application/json, text/event-stream", "content-type": JSON}
    with caplog.at_level(logging.INFO):
        async with app.router.lifespan_context(app):
            await cut(app, "/sign-in", {"content-type": FORM}, b"key=")
            await cut(app, f"{PLACE}/preview", bearer | {"content-type": JSON}, b"{")
            await cut(app, "/mcp", bearer | both, b"{")
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []
    assert [record for record in caplog.records if record.exc_info] == []


async def test_mcp_takes_a_body_as_large_as_rest_does(cronty: Cronty, app: Starlette) -> None:
    bearer, _ = await key_for(cronty, "ann", "read")
    headers = bearer | {"accept": "application/json, text/event-stream", "content-type": JSON, "host": "here"}
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": "%s"}}}'
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://here") as http,
    ):
        answers = [await http.post("/mcp", headers=headers, content=call % (b"x" * size)) for size in (1000, MAX_BODY)]
    assert [one.status_code for one in answers] == [200, 413]


async def test_a_form_of_too_many_fields_is_refused(app: Starlette) -> None:
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as http:
        headers = {"content-type": FORM, "origin": "http://here"}
        answer = await http.post("/sign-in", headers=headers, content=b"&".join([b"a=b"] * 2001))
        assert (answer.status_code, "more than 2000 fields" in answer.text) == (400, True)
        answer = await http.post("/sign-in", headers=headers, content=b"&".join([b"a=b"] * 2000))
        assert answer.status_code == 403, "it was read, and isn't from a page of ours"
