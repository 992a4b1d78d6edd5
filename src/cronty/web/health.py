"""Health checks: is the process alive, and can it serve?"""

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from cronty.web.probes import Said, readiness


def health_routes(not_ready: Said, frozen: Said) -> list[Route]:
    """`/health` always answers 200; `/ready` answers 503 with the reason while `not_ready` returns one."""

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "alive"})

    async def ready(_request: Request) -> JSONResponse:
        status, said = readiness(await not_ready(), await frozen())
        return JSONResponse(said, status)

    return [Route("/health", health), Route("/ready", ready)]
