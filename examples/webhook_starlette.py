"""Receives what a schedule sends: verifies it, answers at once, works after that.

Run it: WEBHOOK_SECRET=whsec_… uvicorn webhook_starlette:app
"""

import os

from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

seen: set[str] = set()  # in earnest: a unique column in your database


async def work(event: dict[str, object]) -> None:
    print(event["data"])  # noqa: T201


async def receive(request: Request) -> Response:
    try:
        event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(await request.body(), dict(request.headers))
    except (WebhookVerificationError, ValueError):
        return Response("the signature is wrong", 401)
    message_id = request.headers["webhook-id"]  # the same for every attempt
    if message_id in seen:
        return Response(status_code=202)
    seen.add(message_id)
    return Response(status_code=202, background=BackgroundTask(work, event))


app = Starlette(routes=[Route("/", receive, methods=["POST"])])
