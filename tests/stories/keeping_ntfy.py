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
    `hangs`: topics for which it answers when the event is set. `broken`: topics with 500 to all. `old`: it knows no
    sequence ids. `deaf`: the call is carried out, but the answer is lost. `slow`: the same, but it is carried out when
    `catch_up` is called. `cut`: the answer is cut off. `limit`: 429 to all. `shown` is what phones show."""

    clock: HandClock
    port: int = 0
    offline: bool = False
    old: bool = False
    deaf: bool = False
    slow: bool = False
    cut: bool = False
    limit: bool = False
    hangs: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    broken: set[str] = field(default_factory=set[str])
    longest: timedelta = LONGEST
    waiting: dict[tuple[str, str], tuple[datetime, dict[str, Any]]] = field(
        default_factory=dict[tuple[str, str], tuple[datetime, dict[str, Any]]]
    )
    rang: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    shown: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    calls: list[str] = field(default_factory=list[str])
    left: list[tuple[str, str, dict[str, str], bytes]] = field(
        default_factory=list[tuple[str, str, dict[str, str], bytes]]
    )

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
                self._send(place, fields)
        return [one["message"] for one in self.rang]

    def catch_up(self) -> None:
        """Carry out what was left lying, in its order."""
        calls, self.left = self.left, []
        for call in calls:
            self._answer(*call)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.offline:
            writer.transport.abort()
            return
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = line.split()
        topic = path.split("/")[1] or json.loads(body)["topic"]
        if hanging := self.hangs.get(topic):
            await hanging.wait()
        self.calls.append(method)
        if self.slow:
            self.left.append((method, path, headers, body))
        elif self.limit or topic in self.broken:
            writer.write(self._refused(429, "limit reached") if self.limit else self._refused(500, "out of order"))
        else:
            said = self._answer(method, path, headers, body)
            if self.cut:
                said = b'HTTP/1.0 200 OK\r\n\r\n{"id":"abc'
            if not self.deaf:
                writer.write(said)
        if self.deaf or self.slow:
            writer.transport.abort()

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
        if method == "DELETE":
            _, topic, sequence = path.split("/")
            if self.old:
                return self._refused(404, "page not found")
            self.waiting.pop((topic, sequence), None)
            self.shown.pop((topic, sequence), None)
            return answer(200, json.dumps({"id": "d1", "event": "message_delete", "sequence_id": sequence}).encode())
        fields = json.loads(body)
        sequence = headers.get("x-sequence-id", "")
        if sequence and not fullmatch(r"[-_A-Za-z0-9]{1,64}", sequence):
            return self._refused(400, "sequence ID invalid")
        place = (fields["topic"], sequence or f"m{len(self.calls)}")
        if "delay" not in fields:
            self.waiting.pop(place, None)
            self._send(place, fields)
            return self._accepted(self.clock(), sequence)
        at = datetime.fromtimestamp(int(fields["delay"]), UTC)
        if not SHORTEST <= at - self.clock() <= self.longest:
            return self._refused(400, "invalid delay parameter: too small or too large")
        self.waiting[place] = (at, fields)
        return self._accepted(at, sequence)

    def _send(self, place: tuple[str, str], fields: dict[str, Any]) -> None:
        self.rang.append(fields)
        self.shown[place] = fields["message"]

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
