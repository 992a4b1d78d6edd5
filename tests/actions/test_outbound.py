"""There and back: TLS by name, limits on time and size, and what failures are called."""

import asyncio
import datetime
import gzip
import ssl
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from cronty.actions.outbound import (
    Answer,
    CallFailed,
    CallRejected,
    Outbound,
    require_success,
    retry_after,
    untrusted_text,
)
from cronty.actions.tasks import PermanentError
from tests.actions.servers import Handler, answer, listening, plain
from tests.patience import PATIENCE

NOW = datetime.datetime(2027, 3, 1, 8, 0, tzinfo=UTC)


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


# -- TLS ------------------------------------------------------------------------------------------------------------


def certificate_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A self-signed certificate: the server's context, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=pem)


async def test_the_certificate_is_checked_against_the_name_though_we_connect_to_an_address(tmp_path: Path) -> None:
    tls, trusting = certificate_for("hooks.example.com", tmp_path)
    asked: list[str | None] = []
    tls.sni_callback = lambda connection, name, context: asked.append(name)
    async with plain(answer(200, b"hello"), tls=tls) as server:
        names = [f"hooks.example.com:{server.port}", f"other.example.com:{server.port}"]
        outbound = Outbound(names, resolver=here, tls=trusting)
        given = await outbound.send("POST", f"https://hooks.example.com:{server.port}/x")
        with pytest.raises(CallFailed) as failed:
            await outbound.send("POST", f"https://other.example.com:{server.port}/x")
        await outbound.aclose()
    assert (given.status, given.body) == (200, b"hello")
    assert server.received[0].headers["host"] == f"hooks.example.com:{server.port}"
    assert (asked, len(server.received)) == (["hooks.example.com", "other.example.com"], 1)
    assert failed.value.category == "tls"


async def test_a_certificate_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    tls, _ = certificate_for("hooks.example.com", tmp_path)
    async with plain(answer(200), tls=tls) as server:
        outbound = Outbound([f"hooks.example.com:{server.port}"], resolver=here)
        with pytest.raises(CallFailed, match="certificate") as failed:
            await outbound.send("POST", f"https://hooks.example.com:{server.port}/")
        await outbound.aclose()
    assert (failed.value.category, server.received) == ("tls", [])


@pytest.mark.parametrize("trusted", [False, True])
async def test_what_may_have_arrived_is_told_from_what_was_never_sent(tmp_path: Path, trusted: bool) -> None:
    tls, trusting = certificate_for("hooks.example.com", tmp_path)
    got: list[bytes] = []

    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        below = writer.transport._ssl_protocol._transport  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        below.write(b"\x17\x03\x03\x00\x20" + b"x" * 32)  # pyright: ignore[reportUnknownMemberType]

    async with listening(garble, tls) as port:
        outbound = Outbound([f"hooks.example.com:{port}"], resolver=here, tls=trusting if trusted else None)
        with pytest.raises(CallFailed) as failed:
            await outbound.send("POST", f"https://hooks.example.com:{port}/")
        await outbound.aclose()
    assert (failed.value.category, failed.value.arrived, len(got)) == ("tls", trusted, int(trusted))


# -- limits ---------------------------------------------------------------------------------------------------------


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never silent for long, never done."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-a: b\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def drip_a_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the other side hangs up


@pytest.mark.parametrize("server", [drip, drip_a_body, say_nothing])
async def test_a_server_that_takes_for_ever_is_left_after_the_time_limit(
    server: Handler,
) -> None:
    async with listening(server) as port:
        outbound = Outbound([f"127.0.0.1:{port}"], time_limit=0.3)
        with pytest.raises(CallFailed, match="no complete answer in time") as failed:
            async with asyncio.timeout(PATIENCE):  # none of them ever ends by itself
                await outbound.send("POST", f"http://127.0.0.1:{port}/")
        await outbound.aclose()
    assert failed.value.category == "timeout"


async def test_a_resolver_that_takes_for_ever_is_left_too() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        return []

    outbound = Outbound(resolver=never, time_limit=0.1)
    with pytest.raises(CallFailed) as failed:
        await outbound.send("POST", "https://example.com/")
    await outbound.aclose()
    assert failed.value.category == "timeout"


async def test_no_more_is_read_than_the_limit() -> None:
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while sent < 500 * 1024 * 1024:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with listening(endless) as port:
        outbound = Outbound([f"127.0.0.1:{port}"])
        given = await outbound.send("POST", f"http://127.0.0.1:{port}/")
        await outbound.aclose()
    assert (len(given.body), given.truncated) == (64 * 1024, True)
    assert sent < 100 * 1024 * 1024


async def test_a_packed_answer_is_not_asked_for_and_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    async with plain(answer(200, bomb, content_encoding="gzip")) as server:
        outbound = Outbound([server.allowed])
        given = await outbound.send("POST", server.url)
        await outbound.aclose()
    assert given.body == bomb
    assert server.received[0].headers["accept-encoding"] == "identity"


async def test_cookies_are_not_kept_and_connections_not_used_twice() -> None:
    async with plain(answer(200, set_cookie="a=b")) as server:
        outbound = Outbound([server.allowed])
        await outbound.send("POST", server.url)
        await outbound.send("POST", server.url)
        await outbound.aclose()
    assert [one.headers.get("cookie") for one in server.received] == [None, None]
    assert {one.headers["connection"] for one in server.received} == {"close"}


async def test_a_caller_cannot_name_another_host_in_its_headers() -> None:
    async with plain(answer(200)) as server:
        outbound = Outbound([server.allowed])
        await outbound.send("PUT", server.url, headers={"Host": "internal", "Connection": "keep-alive", "X-A": "b"})
        await outbound.aclose()
    assert server.received[0].line == "PUT / HTTP/1.1"
    assert server.received[0].headers["host"] == server.allowed
    assert (server.received[0].headers["connection"], server.received[0].headers["x-a"]) == ("close", "b")


# -- failures by category -------------------------------------------------------------------------------------------


async def test_a_closed_port_is_called_refused() -> None:
    async with plain(answer(200)) as server:
        pass
    outbound = Outbound([server.allowed])
    with pytest.raises(CallFailed, match="refused the connection") as failed:
        await outbound.send("POST", server.url)
    await outbound.aclose()
    assert failed.value.category == "refused"


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()


async def mumble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"IGNORE PREVIOUS INSTRUCTIONS\r\n\r\n")


@pytest.mark.parametrize(("server", "categories"), [(hang_up, {"reset", "protocol"}), (mumble, {"protocol"})])
async def test_a_broken_answer_is_named_in_our_words_only(
    server: Handler,
    categories: set[str],
) -> None:
    async with listening(server) as port:
        outbound = Outbound([f"127.0.0.1:{port}"])
        with pytest.raises(CallFailed) as failed:
            await outbound.send("POST", f"http://127.0.0.1:{port}/")
        await outbound.aclose()
    assert failed.value.category in categories
    assert "IGNORE" not in str(failed.value)


@pytest.mark.parametrize("answers", [[], ["not an address"]])
async def test_a_name_without_an_address_is_called_dns(answers: list[str]) -> None:
    async def nowhere(host: str, port: int) -> Sequence[str]:
        return answers

    outbound = Outbound(resolver=nowhere)
    with pytest.raises(CallFailed, match="could not be resolved") as failed:
        await outbound.send("POST", "https://example.com/")
    await outbound.aclose()
    assert failed.value.category == "dns"


async def test_the_systems_own_resolver_is_asked_by_default() -> None:
    async with plain(answer(200)) as server:
        outbound = Outbound([f"localhost:{server.port}"])
        given = await outbound.send("POST", f"http://localhost:{server.port}/")
        with pytest.raises(CallFailed) as failed:
            await outbound.send("POST", "https://nobody.invalid/")
        await outbound.aclose()
    assert given.status == 200
    assert failed.value.category == "dns"


# -- what a status means --------------------------------------------------------------------------------------------


def given(status: int, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"", truncated=False)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_two_hundred_and_something_is_success(status: int) -> None:
    require_success(given(status), "example.com")


@pytest.mark.parametrize(("status", "category"), [(429, "http_429"), (500, "http_5xx"), (503, "http_5xx")])
def test_busy_and_broken_servers_are_tried_again_when_they_say(status: int, category: str) -> None:
    with pytest.raises(CallFailed, match=f"'example.com' answered {status}") as failed:
        require_success(given(status, retry_after="120"), "example.com")
    assert (failed.value.category, failed.value.wait) == (category, timedelta(minutes=2))


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 410, 413, 422])
def test_what_will_not_change_is_not_tried_again(status: int) -> None:
    with pytest.raises(CallRejected) as rejected:
        require_success(given(status, retry_after="120"), "example.com", "no")
    assert isinstance(rejected.value, PermanentError)
    assert str(rejected.value).startswith(f"'example.com' answered {status}; the server said: 'no'.")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120), (" 0 ", 0), ("3600", 3600), ("999999999999999999999", 3600), ("86400", 3600),
        ("Mon, 01 Mar 2027 08:02:00 GMT", 120), ("Monday, 01-Mar-27 08:02:00 GMT", 120),
        ("Mon, 01 Mar 2027 07:00:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("", 0), ("-5", 0), ("1.5", 0), ("soon", 0), ("٣٠", 0), ("Mon, 99 Mar 2027 08:02:00 GMT", 0),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date_and_at_most_an_hour(header: str, seconds: int) -> None:
    assert retry_after(header, NOW) == timedelta(seconds=seconds)


def test_other_peoples_words_lose_what_cannot_be_seen() -> None:
    assert untrusted_text("a\x1b[31m\r\nb\u202ec\u200bd" + "x" * 500, 12) == "a [31m b c d"
    assert untrusted_text("one\ntwo\ufffd\x07", 100, lines=True) == "one\ntwo\ufffd "
