"""A stand-in for an ntfy that keeps messages until their time, on loopback and with the test's clock.

It does what ntfy's documentation says of scheduled messages and of sequence ids (2.16 and later): a delay of 10 seconds
to 3 days, one waiting message for each sequence id, which another one replaces, and DELETE /<topic>/<sequence id>.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from re import fullmatch
from typing import Any

from tests.actions.servers import answer, listening
from tests.conftest import HandClock

SHORTEST, LONGEST = timedelta(seconds=10), timedelta(days=3)


@dataclass
class KeepingNtfy:
    """`waiting` is what it keeps, by topic and sequence id; `rang` what phones were sent. `offline`: nobody answers.
    `hangs`: topics for which it answers when the event is set. `old`: it knows no sequence ids. `deaf`: the call is
    carried out, but the answer is lost. `limit`: 429 to all."""

    clock: HandClock
    port: int = 0
    offline: bool = False
    old: bool = False
    deaf: bool = False
    limit: bool = False
    hangs: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    longest: timedelta = LONGEST
    waiting: dict[tuple[str, str], tuple[datetime, dict[str, Any]]] = field(
        default_factory=dict[tuple[str, str], tuple[datetime, dict[str, Any]]]
    )
    rang: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[str] = field(default_factory=list[str])

    @property
    def allowed(self) -> str:
        return f"127.0.0.1:{self.port}"

    def kept(self) -> list[tuple[datetime, str]]:
        return sorted((at, fields["message"]) for at, fields in self.waiting.values())

    def ring(self) -> list[str]:
        """Send what is due by the clock; all messages that phones were sent so far."""
        for place, (at, fields) in sorted(self.waiting.items(), key=lambda item: item[1][0]):
            if at <= self.clock():
                del self.waiting[place]
                self.rang.append(fields)
        return [one["message"] for one in self.rang]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.offline:
            writer.transport.abort()
            return
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = line.split()
        if hanging := self.hangs.get(path.split("/")[1] or json.loads(body)["topic"]):
            await hanging.wait()
        self.calls.append(method)
        said = self._refused(429, "limit reached") if self.limit else self._answer(method, path, headers, body)
        if self.deaf:
            writer.transport.abort()
        else:
            writer.write(said)

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
        if method == "DELETE":
            _, topic, sequence = path.split("/")
            if self.old:
                return self._refused(404, "page not found")
            self.waiting.pop((topic, sequence), None)
            return answer(200, json.dumps({"id": "d1", "event": "message_delete", "sequence_id": sequence}).encode())
        fields = json.loads(body)
        sequence = headers.get("x-sequence-id", "")
        if sequence and not fullmatch(r"[-_A-Za-z0-9]{1,64}", sequence):
            return self._refused(400, "sequence ID invalid")
        place = (fields["topic"], sequence or f"m{len(self.calls)}")
        if "delay" not in fields:
            self.waiting.pop(place, None)
            self.rang.append(fields)
            return self._accepted(self.clock(), sequence)
        at = datetime.fromtimestamp(int(fields["delay"]), UTC)
        if not SHORTEST <= at - self.clock() <= self.longest:
            return self._refused(400, "invalid delay parameter: too small or too large")
        self.waiting[place] = (at, fields)
        return self._accepted(at, sequence)

    def _accepted(self, at: datetime, sequence: str) -> bytes:
        said = {"id": f"m{len(self.calls)}", "time": int(at.timestamp()), "sequence_id": sequence}
        return answer(200, json.dumps(said).encode())

    def _refused(self, status: int, why: str) -> bytes:
        return answer(status, json.dumps({"code": status * 100, "http": status, "error": why}).encode())


@asynccontextmanager
async def keeping_ntfy(clock: HandClock) -> AsyncGenerator[KeepingNtfy]:
    made = KeepingNtfy(clock)
    async with listening(made.serve) as port:
        made.port = port
        yield made
