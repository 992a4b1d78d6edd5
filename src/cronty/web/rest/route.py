"""How every operation is asked and answered: who calls, what they may, on whose behalf, and which faults are words."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException as Refused
from starlette.types import Message, Receive

from cronty.jobs.caller import MEANINGS, Caller, Scope, acting
from cronty.jobs.result import Err, Result
from cronty.scheduler.doors import AWAY, Doors
from cronty.store.database import StoreUnavailable
from cronty.web.problems import FAULT, TOO_DEEP, bad_request, problem
from cronty.web.rest.documented import responses_of
from cronty.web.who import WhoCalls

type Answer = Mapping[str, object]
type Endpoint = Callable[..., Awaitable[Result[Answer] | Response]]

ANY: Final = "any"
"""For operations that every token may ask for."""

LONGEST_BODY: Final = 1024 * 1024
SAFE: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

log = logging.getLogger("cronty.web")


@dataclass(frozen=True, slots=True)
class Asking:
    """One request: the doors, who asks, and what is known of their program."""

    doors: Doors
    caller: Caller
    client: str | None

    @property
    def owner(self) -> str:
        return self.caller.owner

    def origin(self) -> dict[str, object]:
        """As jobs keep it."""
        known: dict[str, object] = {"surface": "rest"}
        if self.client is not None:
            known["client"] = {"name": self.client}
        if self.caller.agent is not None:
            known["agent"] = self.caller.agent
        return known


def _asking(request: Request) -> Asking:
    return request.state.asking


Asks = Annotated[Asking, Depends(_asking)]


class Guarded(APIRoute):
    """Nothing of a request is read before it is known who asks, and whether they may."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        said = (self.openapi_extra or {})["x-scope"]
        scope: Scope | None = None if said == ANY else said
        known, queried = _names(self), _queried(self)
        via = f"{min(self.methods or ())} {self.path}"

        async def handle(request: Request) -> Response:
            try:
                response = await _admitted(request, scope, via, lambda asked: _fitting(asked, queried, inner))
            except RequestValidationError as wrong:
                response = bad_request(wrong.errors(), known)
            except StoreUnavailable:
                response = problem(AWAY)
            except RecursionError:
                response = problem(TOO_DEEP)
            except Refused:
                raise
            except Exception:
                log.exception("%s failed", via)
                response = problem(FAULT)
            for name, value in SAFE.items():
                response.headers.setdefault(name, value)
            return response

        return handle


def _names(route: APIRoute) -> list[str]:
    """The fields that a route takes in its body."""
    model = None if route.body_field is None else route.body_field.field_info.annotation
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _queried(route: APIRoute) -> list[str]:
    """What may stand in the query."""
    params = route.dependant.query_params
    models = [one.field_info.annotation for one in params]
    if len(params) == 1 and isinstance(models[0], type) and issubclass(models[0], BaseModel):
        return [field.alias or name for name, field in models[0].model_fields.items()]
    return [param.alias for param in params]


async def _fitting(request: Request, queried: list[str], inner: Callable[[Request], Awaitable[Response]]) -> Response:
    """A mistyped name in the query would do nothing, so it is refused."""
    unknown = [name for name in request.query_params if name not in queried]
    if unknown:
        errors = [{"type": "extra_forbidden", "loc": ("query", name), "msg": ""} for name in unknown]
        return bad_request(errors, queried)
    return await inner(request)


async def _admitted(
    request: Request, scope: Scope | None, via: str, inner: Callable[[Request], Awaitable[Response]]
) -> Response:
    who: WhoCalls = request.app.state.who
    caller = await who(bearer(request))
    if isinstance(caller, Err):
        return refused(caller)
    if scope is not None and not caller.value.may(scope):
        said = f"This needs the scope {scope} ({MEANINGS[scope]}), which the token lacks."
        return problem(Err("missing_scope", said, f"Use a token with the scope {scope}."))
    asking = Asking(request.app.state.doors(), caller.value, _said(request.headers.get("user-agent")))
    request.state.asking = asking
    with acting(caller.value, {**asking.origin(), "route": via}):
        return await inner(Request(request.scope, _bounded(request.receive)))


def bearer(request: Request) -> str | None:
    """The token of a request; other schemes than Bearer are none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def refused(err: Err) -> Response:
    """Whoever tries tokens out is told nothing of why; our log is."""
    if err.code != "unauthenticated":
        return problem(err, headers={"www-authenticate": 'Bearer realm="cronty"'})
    log.info("a token was refused: %s", err.hint)
    told = Err(err.code, err.message, "Use another; it may be revoked or have run out.")
    return problem(told, headers={"www-authenticate": 'Bearer realm="cronty", error="invalid_token"'})


def _bounded(receive: Receive) -> Receive:
    """The body, as long as it isn't too long to be a request of ours."""
    size = 0

    async def receive_some() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LONGEST_BODY:
            raise HTTPException(413)
        return message

    return receive_some


def _said(text: str | None) -> str | None:
    """What a program calls itself, on one line."""
    return None if not text else "".join(one if one.isprintable() else " " for one in text[:100])


def reply(data: Answer, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(data), status, dict(headers or {}), "application/json")


class Room:
    """Operations about one thing. The summary and description of each are its function's name and docstring."""

    def __init__(self, tag: str) -> None:
        self.router = APIRouter(route_class=Guarded, tags=[tag])

    def operation(
        self,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        scope: Scope | None,
        shape: type[BaseModel] | str | None,
        *errors: int,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Callable[[Endpoint], Endpoint]:
        """`errors` are the statuses beside those that any call may have; `headers` what its success brings along."""

        def register(function: Endpoint) -> Endpoint:
            @wraps(function)
            async def answered(*args: Any, **given: Any) -> Response:
                result = await function(*args, **given)
                if isinstance(result, Response):
                    return result
                return problem(result) if isinstance(result, Err) else reply(result.value, status)

            named = (404,) if "{" in path else ()  # what is in a path may fit none
            needs = "any token" if scope is None else f"the scope `{scope}`: {MEANINGS[scope]}"
            self.router.add_api_route(
                path,
                answered,
                methods=[method],
                status_code=status,
                response_model=None,
                response_class=Response,
                responses=responses_of(status, shape, (*errors, *named), headers or {}),
                summary=function.__name__.replace("_", " ").capitalize(),
                description=f"{' '.join((function.__doc__ or '').split())}\n\nNeeds {needs}.",
                operation_id=function.__name__,
                openapi_extra={"x-scope": scope or ANY, "security": [{"key": []}]},
            )
            return function

        return register
