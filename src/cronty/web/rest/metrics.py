"""`/metrics` of `cronty serve`: what Prometheus reads, for the operator of the installation."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cronty.contract.result import Err
from cronty.scheduler import Service
from cronty.web.callers import FindCaller
from cronty.web.probes import METRICS_TYPE
from cronty.web.problems import problem
from cronty.web.rest.request import SAFE, bearer, refused_token


def metrics_route(service: Callable[[], Service], who: FindCaller, text: Callable[[], Awaitable[str]]) -> Route:
    async def metrics(request: Request) -> Response:
        caller = await who(bearer(request))
        if isinstance(caller, Err):
            return refused_token(caller)
        if refused := service().overview.not_for(caller.value):
            return problem(refused)
        return Response(await text(), media_type=METRICS_TYPE, headers=SAFE)

    return Route("/metrics", metrics)
