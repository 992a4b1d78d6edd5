"""Health checks: is the process alive, and can it serve?"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

type Ready = Callable[[], Awaitable[str | None]]


def health_routes(not_ready: Ready) -> list[Route]:
    """`/health` always answers 200; `/ready` answers 503 with the reason while `not_ready` returns one."""

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "alive"})

    async def ready(_request: Request) -> JSONResponse:
        reason = await not_ready()
        if reason is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "reason": reason}, status_code=503)

    return [Route("/health", health), Route("/ready", ready)]
