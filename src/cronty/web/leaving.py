"""Callers who leave before their request has arrived: nobody is there to be answered, and nothing is wrong."""

import logging
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log: Final = logging.getLogger("cronty.web")


def without_who_left(app: ASGIApp) -> ASGIApp:
    """Middleware for all surfaces: a request that was cut isn't a fault, which would be a page of traceback each."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except ClientDisconnect:
            log.debug("A caller left before its request had arrived.")

    return answer


async def arrived(receive: Receive, most: int) -> Receive:
    """What gives the body again once it has arrived, for an app that takes a cut one for a fault.

    More than `most` bytes aren't waited for: the app may read on, and refuse it.
    """
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        messages.append(message)
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    messages.reverse()

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
