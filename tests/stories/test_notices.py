"""Who watches a job or a topic hears of it when another process has changed it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from mcp.client.subscriptions import ListenNotSupportedError, ResourceUpdated

from tests.mcp.caller import Caller
from tests.stories.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

IN_TIME = 5
"""Seconds; what is watched is looked at once a second."""


async def told(watcher: Caller, uri: str, change: Callable[[], Awaitable[object]]) -> str:
    """Which resource a notice names that comes after a change."""
    async with watcher.client.listen(resource_subscriptions=[uri]) as notices:
        assert notices.honored.resource_subscriptions == [uri]
        await change()
        async with asyncio.timeout(IN_TIME):
            notice = await anext(notices)
    assert isinstance(notice, ResourceUpdated)
    return notice.uri


@pytest.mark.parametrize(
    ("here", "there"), [("stdio 2026-07-28", "http 2025-11-25"), ("http 2026-07-28", "stdio 2025-11-25")]
)
async def test_a_change_made_elsewhere_is_noticed(empty_town: Town, here: str, there: str) -> None:
    watcher, other = empty_town.callers[here], empty_town.callers[there]
    job = await other.ask("schedule_job", name="n", task="run_backup", hours=1)
    uri = f"job://{job['job_id']}"
    assert await told(watcher, uri, lambda: other.ask("edit_job", job_id=job["job_id"], name="renamed")) == uri
    assert await told(watcher, uri, lambda: other.ask("run_job_now", job_id=job["job_id"])) == uri
    assert await told(watcher, uri, lambda: other.ask("delete_schedule", schedule_id=job["job_id"])) == uri
    topic = "schedules://ann-phone"

    def remind() -> Awaitable[object]:
        return other.ask("schedule_notification", message="m", notification_topic="ann-phone", delay="1h")

    assert await told(watcher, topic, remind) == topic


@pytest.mark.parametrize("here", ["stdio 2026-07-28", "http 2026-07-28"])
async def test_what_belongs_to_others_is_watched_in_vain(empty_town: Town, here: str) -> None:
    watcher, clerk = empty_town.callers[here], empty_town.clerk
    mine = await watcher.ask("schedule_job", name="mine", task="run_backup", hours=1)
    clerk.owner = "mallory"
    try:
        theirs = await clerk.schedule_job("theirs", "run_backup", "interval", {"hours": 1})
        uris = [f"job://{theirs.job_id}", f"job://{mine['job_id']}"]
        async with watcher.client.listen(resource_subscriptions=uris) as notices:
            await clerk.edit_job(theirs.job_id, name="renamed")
            await watcher.ask("edit_job", job_id=mine["job_id"], name="renamed")
            async with asyncio.timeout(IN_TIME):
                notice = await anext(notices)
        assert isinstance(notice, ResourceUpdated)
        assert notice.uri == uris[1]  # the change to the other job came first, and was not told
        await empty_town.clear()
    finally:
        clerk.owner = "local"


@pytest.mark.parametrize("here", ["stdio 2025-11-25", "http 2025-11-25"])
async def test_the_handshake_era_has_no_notices(empty_town: Town, here: str) -> None:
    with pytest.raises(ListenNotSupportedError):
        async with empty_town.callers[here].client.listen(resource_subscriptions=["job://1"]):
            pass
