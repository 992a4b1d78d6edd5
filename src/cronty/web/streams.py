"""An answer that goes on: server-sent events for one listener."""

from collections.abc import AsyncIterable, Mapping
from typing import override

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from cronty.scheduler.listeners import Place


class EventResponse(StreamingResponse):
    """Leaves the listener's place when it is over, even if the client was gone before it began."""

    def __init__(
        self, events: AsyncIterable[str | bytes], place: Place, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._place = place

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._place.leave()
