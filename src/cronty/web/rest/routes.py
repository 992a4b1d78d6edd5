"""One route per operation of the table; each turns a request into an answer in the same steps."""

import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, cast

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from cronty.contract.answers import ScheduledJob, to_json
from cronty.contract.caller import Caller
from cronty.contract.http import PREFIX, Arrived, fields_of
from cronty.contract.operations import AnyOperation, Operations
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.permission import not_permitted
from cronty.scheduler.service import AWAY, StoreUnavailable
from cronty.web.problems import FAULT, TOO_DEEP, problem
from cronty.web.rest.request import MAX_BODY, MAX_FILE, SAFE, caller_of, read_body, refused_token

log = logging.getLogger("cronty.web")

type Endpoint = Callable[[Request], Awaitable[Response]]


def route_of(operation: AnyOperation) -> Route:
    async def answer(request: Request) -> Response:
        caller = await caller_of(request)
        if isinstance(caller, Err):
            return refused_token(caller)
        if refused := not_permitted(operation, caller.value):  # the service asks too, but only once the body is read
            return problem(refused)
        result = await _result(operation, caller.value, request)
        return problem(result) if isinstance(result, Err) else _reply(operation, request, result.value)

    return Route(operation.path, guarded(answer, operation.name), methods=[operation.method])


def guarded(answer: Endpoint, name: str) -> Endpoint:
    """An endpoint that answers unexpected errors too, with headers that keep browsers from using the answer."""

    async def endpoint(request: Request) -> Response:
        try:
            response = await answer(request)
        except (HTTPException, ClientDisconnect):
            raise
        except RecursionError:
            response = problem(TOO_DEEP)
        except StoreUnavailable:  # while the caller was looked for
            response = problem(AWAY)
        except Exception:
            log.exception("%s failed", name)
            response = problem(FAULT)
        for header, value in SAFE.items():
            response.headers.setdefault(header, value)
        return response

    return endpoint


async def _result(operation: AnyOperation, caller: Caller, request: Request) -> Result[Any]:
    body = await _body(operation, request) if operation.method in ("POST", "PUT", "PATCH") else Ok(dict[str, object]())
    if isinstance(body, Err):
        return body
    arrived = Arrived(request.path_params, request.query_params.multi_items(), request.headers, body.value)
    given = fields_of(operation, arrived)
    if isinstance(given, Err):
        return given
    wanted = operation.read(given.value)
    return (
        wanted if isinstance(wanted, Err) else await request.app.state.service().answer(operation, caller, wanted.value)
    )


async def _body(operation: AnyOperation, request: Request) -> Result[dict[str, object]]:
    text = await read_body(request, MAX_FILE if operation.name == Operations.save_calendar.name else MAX_BODY)
    if not text:
        return Ok({})
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as wrong:
        return Err("bad_request", f"The body isn't JSON: {wrong}.", "Send UTF-8 JSON.")
    if not isinstance(found, dict):
        return Err("bad_request", "The body isn't a JSON object.", 'Send the fields by name, as in {"name": "backup"}.')
    return Ok(cast("dict[str, object]", found))


def _reply(operation: AnyOperation, request: Request, answer: object) -> Response:
    if answer is None:
        return Response(status_code=operation.status)
    text = orjson.dumps(to_json(answer))
    headers: dict[str, str] = {}
    if isinstance(answer, ScheduledJob):
        headers["etag"] = f'"{answer.version}"'
        if operation.status == 201:
            headers["location"] = f"{PREFIX}/jobs/{answer.job_id}"
    if operation.name == Operations.job_status.name:
        # The version, and a hash of the answer: runs change without a new version.
        headers = {
            "etag": f'"{getattr(answer, "version", 0)}-{sha256(text).hexdigest()[:16]}"',
            "cache-control": "private, no-cache",
        }
        known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
        if headers["etag"] in known or "*" in known:
            return Response(status_code=304, headers=headers)
    return Response(text, operation.status, headers, "application/json")
