"""REST over the doors: everything a caller may ask, as one ASGI application to be mounted at `/api/v1`."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cronty.jobs.caller import MEANINGS
from cronty.jobs.result import Err
from cronty.scheduler.doors import Doors
from cronty.web.problems import problem
from cronty.web.rest import clock, events, jobs, messages, owners, runs, shapes, shapes_of_owners
from cronty.web.rest.documented import Problem, add_examples
from cronty.web.rest.pages import add_page
from cronty.web.rest.route import LONGEST_BODY
from cronty.web.who import WhoCalls

PLACE: Final = "/api/v1"
DESCRIPTION: Final = f"""\
Durable schedules. Show a key as `Authorization: Bearer <key>`; it says whose jobs you see, and its scopes what you may:

{chr(10).join(f"- `{scope}`: {meaning}" for scope, meaning in MEANINGS.items())}

Failures are problem details (RFC 9457): `code` is for programs, `detail` says what was wrong, `hint` what to do next.
Somebody else's id is answered like one that doesn't exist. Every id is taken in any of its forms.
"""


def rest_app(doors: Callable[[], Doors], who: WhoCalls) -> FastAPI:
    """`doors` are asked for with every request, so that they may still be closed now."""
    app = FastAPI(
        title="Cronty", version=version("cronty"), description=DESCRIPTION, docs_url=None, redoc_url=None,
        openapi_url=None, servers=[{"url": PLACE}],
    )  # fmt: skip
    app.state.doors, app.state.who, app.state.listeners = doors, who, events.Listeners()
    for room in (jobs, runs, events, clock, messages, owners):
        app.include_router(room.room.router)
    app.add_exception_handler(HTTPException, refused)
    app.openapi = lambda: described(app)
    add_page(app)
    return app


async def refused(request: Request, error: Exception) -> Response:
    """What is refused before an operation is found, or while its body comes in."""
    assert isinstance(error, HTTPException)
    where = f"{request.method} {request.url.path}"[:200]
    match error.status_code:
        case 404:
            err = Err("no_such_path", f"There is nothing at {where}.", f"{PLACE}/docs lists what there is.")
        case 405:
            allowed = (error.headers or {}).get("allow", "")
            err = Err("bad_method", f"{where} isn't possible.", f"Possible there: {allowed}." if allowed else "")
        case 413:
            err = Err("too_large", f"The body is larger than {LONGEST_BODY} bytes.", "Send less.")
        case _:
            err = Err("bad_request", "The body can't be read.", "Send UTF-8 JSON.")
    return problem(err, headers=error.headers)


def described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, servers=app.servers
        )
        components = made.setdefault("components", {})
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}}
        components["schemas"] = {**_shapes(), **components.get("schemas", {})}
        add_examples(made["paths"], components["schemas"])
        app.openapi_schema = made
    return app.openapi_schema


def _shapes() -> dict[str, Any]:
    found = {
        one
        for module in (shapes, shapes_of_owners)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, BaseModel) and one is not BaseModel
    }
    ordered = sorted([*found, Problem], key=lambda one: one.__name__)
    _, made = models_json_schema(
        [(one, "serialization") for one in ordered], ref_template="#/components/schemas/{model}"
    )
    return made["$defs"]
