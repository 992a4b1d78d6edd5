"""The REST application: every operation of the table, to be mounted at `/api/v1`."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cronty.contract.http import PREFIX
from cronty.contract.operations import ALL
from cronty.contract.result import Err
from cronty.scheduler.service import Service
from cronty.web.callers import FindCaller
from cronty.web.problems import problem
from cronty.web.rest import events, feed
from cronty.web.rest.pages import pages
from cronty.web.rest.routes import guarded, route_of


def rest_app(service: Callable[[], Service], find_caller: FindCaller) -> Starlette:
    """`service` is called on every request, because it may still be closed now."""
    app = Starlette(
        routes=[
            *(route_of(operation) for operation in ALL.values()),
            Route("/events", guarded(events.listen, "events"), methods=["GET"]),
            Route(feed.PATH, guarded(feed.subscribe, "agenda"), methods=["GET"]),
            *pages(),
        ],
        exception_handlers={HTTPException: refused},
    )
    app.state.service, app.state.find_caller = service, find_caller
    return app


async def refused(request: Request, error: Exception) -> Response:
    """The answer to a request that is refused before an operation is found, or while its body is read."""
    assert isinstance(error, HTTPException)
    where = f"{request.method} {request.url.path}"[:200]
    match error.status_code:
        case 404:
            err = Err("no_such_path", f"There is nothing at {where}.", f"{PREFIX}/docs lists what there is.")
        case 405:
            allowed = (error.headers or {}).get("allow", "")
            err = Err("bad_method", f"{where} isn't possible.", f"Allowed methods: {allowed}." if allowed else "")
        case 413:
            err = Err("too_large", error.detail, "Send less.")
        case 429:
            message = "This owner has too many requests in progress."
            err = Err("too_many_requests", message, "Wait for some of them, and send fewer at once.")
        case _:
            err = Err("bad_request", "The request can't be read.", "Send UTF-8 JSON.")
    return problem(err, headers=error.headers)
