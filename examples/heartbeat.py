"""A heartbeat agent: wakes every half hour by day, looks around, and does what the agenda has for it.

Run it beside `cronty serve`, whose key is in the data folder:
CRONTY_KEY=$(cat ~/.local/share/cronty/local.key) python heartbeat.py
"""

import asyncio
import os
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

ME = "heartbeat"
BEAT: dict[str, Any] = {
    "name": ME,
    "task": "prompt",
    "trigger_type": "words",
    "trigger_config": {"text": "every 30 minutes between 8:00 and 22:00"},
    "timezone": os.environ.get("TIMEZONE", "Europe/Berlin"),
    "kwargs": {"prompt": "Look around; speak only if something needs me.", "agent": ME},
    "idempotency_key": ME,  # started again, it finds the heartbeat it has
}


def look_around(since: str | None) -> str | None:
    """Yours to fill in: what is new since the last heartbeat, or None if there is nothing to say."""
    return None


def act(prompt: str, data: object) -> str:
    """Yours to fill in: hand the prompt to your model, the data apart from it."""
    return f"did: {prompt}"


async def handle(client: Client, item: dict[str, Any]) -> None:
    is_beat = item["name"] == ME
    said = look_around(item["previous_slot"]) if is_beat else act(item["prompt"], item["data"])
    outcome = {"outcome": "quiet"} if said is None else {"outcome": "done", "report": said}
    await client.call_tool("acknowledge_inbox", {"receipts": [item["receipt"]], **outcome})
    print(item["why"], "->", said or "quiet", flush=True)  # noqa: T201


async def main(server: Any) -> None:
    async with Client(server) as client:
        await client.call_tool("schedule_job", BEAT)
        while True:
            inbox: Any = await client.call_tool("read_inbox", {"agent": ME, "wait_seconds": 20})
            for item in inbox.structured_content.get("items", []):
                await handle(client, item)


async def call(url: str, key: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        await main(streamable_http_client(url, http_client=http))


if __name__ == "__main__":
    asyncio.run(call(os.environ.get("CRONTY_URL", "http://127.0.0.1:8125/mcp"), os.environ["CRONTY_KEY"]))
