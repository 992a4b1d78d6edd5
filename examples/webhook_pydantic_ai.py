"""Wakes an agent when a schedule fires; the schedule's body is {"prompt": "…"}.

Run it: WEBHOOK_SECRET=whsec_… MODEL=anthropic:claude-sonnet-4-5 uvicorn webhook_pydantic_ai:app
"""

import os
from typing import Any

from pydantic_ai import Agent
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

agent = Agent(os.environ.get("MODEL"), instructions="You were woken by a schedule; nobody is watching.")
answers: dict[str, str | None] = {}  # by webhook-id; in earnest: a table of your database


async def work(message_id: str, data: dict[str, Any]) -> None:
    answers[message_id] = (await agent.run(data["payload"]["prompt"])).output


async def receive(request: Request) -> Response:
    try:
        event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(await request.body(), dict(request.headers))
    except (WebhookVerificationError, ValueError):
        return Response("the signature is wrong", 401)
    message_id = request.headers["webhook-id"]  # the same for every attempt
    if message_id in answers:
        return Response(status_code=202)
    answers[message_id] = None
    return Response(status_code=202, background=BackgroundTask(work, message_id, event["data"]))


app = Starlette(routes=[Route("/", receive, methods=["POST"])])
