"""Health checks: is the process alive, and can it serve?"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from cronty.contract.local_key import CHALLENGE, PROOF
from cronty.web.probes import Said, readiness

type Prove = Callable[[str], str]
"""From a challenge to the proof that this server has the key of its user."""


def health_routes(not_ready: Said, frozen: Said, prove: Prove | None = None) -> list[Route]:
    """`/health` always answers 200; `/ready` answers 503 with the reason while `not_ready` returns one."""

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> JSONResponse:
        status, said = readiness(await not_ready(), await frozen())
        challenge = request.headers.get(CHALLENGE)
        proof = {} if prove is None or challenge is None else {PROOF: prove(challenge)}
        return JSONResponse(said, status, proof)

    return [Route("/health", health), Route("/ready", ready)]
