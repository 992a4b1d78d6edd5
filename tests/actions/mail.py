"""A real SMTP server on loopback that keeps what it is sent."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass
class Mailbox:
    port: int = 0
    refusing: bool = False
    mails: list[tuple[list[str], EmailMessage]] = field(default_factory=list[tuple[list[str], EmailMessage]])

    @property
    def allowed(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, to: str = "ann@example.com", options: str = "") -> str:
        return f"mailto://127.0.0.1:{self.port}?from=cronty@example.com&to={to}{options}"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        if self.refusing:
            return "554 no"
        content = cast("bytes", envelope.content)
        self.mails.append((envelope.rcpt_tos, message_from_bytes(content, policy=policy.default)))
        return "250 OK"


@asynccontextmanager
async def mailbox(*, refusing: bool = False) -> AsyncGenerator[Mailbox]:
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # it would put the mails it gets into our own log
    box = Mailbox(refusing=refusing)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(box, hostname="localhost", loop=loop), "127.0.0.1", 0, family=socket.AF_INET
    )
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        await server.wait_closed()
