"""The agenda as a calendar to subscribe to. Calendars send no headers, so the key is in the URL."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from cronty.contract.result import Err
from cronty.scheduler.feed import agenda_feed
from cronty.scheduler.service import AWAY, StoreUnavailable
from cronty.web.problems import problem

PATH: Final = "/agenda/{key}.ics"
_NO_KEY: Final = Err(
    "bad_token", "The URL has no valid key.", "Make one with: cronty token add calendar --scope agenda."
)


async def subscribe(request: Request) -> Response:
    key: str = request.path_params["key"]
    try:
        # A signed token has dots; it can't be revoked, so it must not be in a URL.
        caller = _NO_KEY if "." in key else await request.app.state.find_caller(key)
        if isinstance(caller, Err):
            return problem(_NO_KEY)
        feed = await agenda_feed(request.app.state.service().scheduler, caller.value)
    except StoreUnavailable:
        return problem(AWAY)
    if isinstance(feed, Err):
        return problem(feed)
    headers = {"content-disposition": 'inline; filename="cronty.ics"', "cache-control": "private, max-age=900"}
    return Response(feed.value, headers=headers, media_type="text/calendar; charset=utf-8")
