"""What a channel's URL may be, and messages brought to it: ntfy and mail for real, on loopback."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from cronty.actions import relay
from cronty.actions.courier import Courier, as_text
from cronty.actions.outbound import CallFailed, CallRefused, Outbound
from cronty.actions.relay import NEVER, SERVICES
from cronty.actions.tasks import PermanentError
from cronty.settings import Settings
from tests.actions.mail import mailbox
from tests.actions.servers import answer, listening, plain, watching
from tests.patience import PATIENCE

CANARY = "Canary7Secret"
PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000,"event":"message","topic":"x","message":"hi"}')
SCHEMES = str(Settings.model_fields["channel_schemes"].default).split(",")
MESSAGE = {"topic": "phone", "message": "Call mum"}


async def nowhere(_host: str, _port: int) -> Sequence[str]:
    return ["93.184.216.34"]


@asynccontextmanager
async def courier(
    *allowed: str, schemes: Sequence[str] = SCHEMES, time_limit: float = 10.0, **options: object
) -> AsyncGenerator[Courier]:
    outbound = Outbound(allowed, **options)  # pyright: ignore[reportArgumentType]
    made = Courier(outbound, schemes, time_limit=time_limit)
    try:
        yield made
    finally:
        await made.aclose()
        await outbound.aclose()


# -- ntfy -------------------------------------------------------------------------------------------------------


async def test_an_ntfy_channel_is_published_to_with_its_own_topic_and_token() -> None:
    async with plain(PUBLISHED) as server, courier(server.allowed) as post:
        url = f"ntfy://tk_{CANARY}@{server.allowed}/Topic_{CANARY}"
        assert await post.check(url) == ("ntfy", "ntfy at 127.0.0.1")
        facts = await post.deliver(url, {**MESSAGE, "priority": 4, "title": None})
    assert facts == {"id": "sPs71M8A2T", "channel": "phone", "time": 1803888000}
    sent = server.received[0]
    assert json.loads(sent.body) == {"topic": f"Topic_{CANARY}", "message": "Call mum", "priority": 4}
    assert sent.headers["authorization"] == f"Bearer tk_{CANARY}"


async def test_a_public_ntfy_server_is_called_by_https_only() -> None:
    seen: list[int] = []

    async def resolve(_host: str, port: int) -> Sequence[str]:
        seen.append(port)
        return ["93.184.216.34"]

    async with courier(resolver=resolve) as post:
        assert await post.check("ntfy://ntfy.sh/topic") == ("ntfy", "public ntfy topic at ntfy.sh")
        assert await post.check("ntfys://tk_secret@ntfy.sh/topic") == ("ntfys", "ntfy at ntfy.sh")
        assert await post.check("ntfys://ntfy.sh/topic") == ("ntfys", "public ntfy topic at ntfy.sh")
    assert seen == [443, 443, 443]


@pytest.mark.parametrize("status", [403, 500, 200])
async def test_nothing_the_server_says_is_kept(status: int) -> None:
    async with plain(answer(status, f'{{"error":"{CANARY}"}}'.encode())) as server, courier(server.allowed) as post:
        with pytest.raises((PermanentError, CallFailed)) as failed:
            await post.deliver(f"ntfy://tk_{CANARY}@{server.allowed}/{CANARY}", MESSAGE)
    assert CANARY not in repr(failed.value) + str(failed.value)


# -- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "begins with one of these"),
        (CANARY, "begins with one of these"),
        (f"https://hooks.example.com/{CANARY}", "begins with one of these"),
        (f"{CANARY.lower()}://x", "begins with one of these"),
        (f"ntfy://ntfy.sh/{CANARY}\n", "one word of at most 2048"),
        ("ntfy://ntfy.sh/" + CANARY * 200, "one word of at most 2048"),
        (f"ntfy://ntfy.sh/a/{CANARY}", "is written ntfy://host/topic"),
        (f"ntfy://ann:{CANARY}@ntfy.sh/a", "is written ntfy://host/topic"),
        (f"ntfy://ntfy.sh/a?x={CANARY}", "is written ntfy://host/topic"),
        (f"ntfy://127.0.0.1/{CANARY}", "it has a loopback address"),
        (f"ntfy://{CANARY}@169.254.169.254/a", "it has a metadata address"),
        (f"ntfy://0x7f.1/{CANARY}", "it looks like an address in an unusual spelling"),
        (f"ntfy://ntfy.sh:22/{CANARY}", "port 22 isn't allowed, only 443 and 80"),
        (f"json://example.com/{CANARY}", "begins with one of these"),
        (f"syslog://{CANARY}", "begins with one of these"),
        (f"mailto://ann:{CANARY}@127.0.0.1?from=a@b.de", "only encrypted connections are allowed"),
        (f"mailtos://ann:{CANARY}@10.0.0.1?from=a@b.de", "it has a private address"),
        (f"mailtos://ann:{CANARY}@example.com:5432", "port 5432 isn't allowed, only 2525, 587, 465 and 25"),
        (f"mailtos://ann:{CANARY}@example.com?smtp=10.0.0.1", "it has a private address"),
        (f"mailtos://ann:{CANARY}@example.com?mode=insecure", "only encrypted connections are allowed"),
        (f"mailtos://ann:{CANARY}@example.com?verify=no", "an option that isn't accepted"),
        (f"mailtos://ann:{CANARY}@example.com?pgppub=/etc/passwd", "an option that isn't accepted"),
        (f"mailtos://ann:{CANARY}@example.com?+X-Header={CANARY}", "an option that isn't accepted"),
        (f"discord://1234567890/{CANARY}?template=/etc/passwd", "an option that isn't accepted"),
        (f"gotify://push.example.com/{CANARY}", "only encrypted connections are allowed"),
        (f"gotifys://push.example.com/{CANARY}?redirect=yes", "an option that isn't accepted"),
        (f"gotifys://push.example.com:8080/{CANARY}", "port 8080 isn't allowed"),
        (f"gotifys://192.168.1.1/{CANARY}", "it has a private address"),
        (f"slack://{CANARY}", "isn't complete"),
        (f"tgram://{CANARY}", "isn't complete"),
        (f"pover://{CANARY}", "isn't complete"),
    ],
)
async def test_a_channel_that_cannot_be_one_is_refused_in_a_sentence_without_its_secret(
    url: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with watching() as watch:
        async with courier(resolver=nowhere) as post:
            with pytest.raises(PermanentError) as refused:
                await post.check(url)
    assert said in str(refused.value)
    assert CANARY.lower() not in (str(refused.value) + repr(refused.value) + caplog.text).lower()
    assert watch.seen == []


async def test_a_name_that_resolves_to_a_private_address_is_refused() -> None:
    async def inside(_host: str, _port: int) -> Sequence[str]:
        return ["93.184.216.34", "10.1.2.3"]

    async with courier(resolver=inside) as post:
        for url in ("ntfy://ntfy.example.com/a", "mailtos://a:b@example.com", "gotifys://push.example.com/abc"):
            with pytest.raises(PermanentError, match="it has a private address"):
                await post.check(url)


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        (f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7{CANARY}", "Slack"),
        (f"discord://4174216298/{CANARY}", "Discord"),
        (f"tgram://123456789:{CANARY}_hijklmnop/12315544", "Telegram"),
        (f"workflows://prod-01.example.com/{CANARY}/{CANARY}", "Teams at prod-01.example.com"),
        (f"pover://{'u' * 30}@{'a' * 30}", "Pushover"),
        (f"gotifys://push.example.com/{CANARY}", "Gotify at push.example.com"),
        (f"mailtos://ann:{CANARY}@example.com?to=bob@example.org", "mail to b…@example.org"),
        (f"mailto://ann:{CANARY}@gmail.com", "mail to a…@gmail.com"),
    ],
)
async def test_a_hint_says_where_it_leads_and_holds_no_secret(url: str, hint: str) -> None:
    async with courier(resolver=nowhere) as post:
        assert await post.check(url) == (url.partition(":")[0], hint)


async def test_an_operator_may_offer_more_but_nothing_that_acts_on_the_machine() -> None:
    async with courier(schemes=["json", "mmosts"], resolver=nowhere) as post:
        assert await post.check("mmosts://chat.example.com/abcdefghijklmnopqrst") == ("mmosts", "mmosts")
        with pytest.raises(PermanentError, match="an option that isn't accepted"):
            await post.check("json://example.com/?method=DELETE")
    for scheme in NEVER:
        with pytest.raises(ValueError, match="acts on the machine itself"):
            Courier(Outbound(), [scheme])


def test_every_scheme_offered_by_default_is_one_we_have_looked_at() -> None:
    assert set(SCHEMES) == set(SERVICES)


async def test_without_apprise_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise ModuleNotFoundError

    relay._load_apprise.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(relay.importlib, "import_module", missing)
    async with courier() as post:
        with pytest.raises(PermanentError, match=r"pip install 'cronty\[apprise\]'"):
            await post.check("mailtos://ann:pw@example.com")


# -- through Apprise --------------------------------------------------------------------------------------------


async def test_a_mail_arrives(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with mailbox() as box, courier(box.allowed) as post:
        assert await post.check(box.url()) == ("mailto", "mail to a…@example.com")
        facts = await post.deliver(box.url(), {**MESSAGE, "title": "Family", "click": "https://example.com/mum"})
    assert facts.keys() == {"channel", "time"}
    assert facts["channel"] == "phone"
    [(to, mail)] = box.mails
    assert to == ["ann@example.com"]
    assert (mail["subject"], mail["from"]) == ("Family", "cronty@example.com")
    body = mail.get_body(("plain", "html"))
    assert body is not None
    assert "Call mum" in body.get_content()
    assert "https://example.com/mum" in body.get_content()
    assert "ann@example.com" not in caplog.text


async def test_what_a_service_does_not_take_is_tried_again_and_nothing_is_said_of_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with mailbox(refusing=True) as box, courier(box.allowed) as post:
        with pytest.raises(CallFailed) as failed:
            await post.deliver(box.url(f"{CANARY}@example.com"), MESSAGE)
    assert failed.value.category == "undelivered"
    assert str(failed.value) == "The service behind the mailto channel didn't take the message."
    assert CANARY not in caplog.text


async def test_a_name_that_changes_between_our_look_and_theirs_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo
    async with plain(answer(200, b"{}")) as server, courier(resolver=nowhere) as post:
        url = f"gotifys://rebind.example.com/{CANARY}"
        assert await post.check(url) == ("gotifys", "Gotify at rebind.example.com")

        def rebound(host: str, _port: object, *rest: int, **more: int) -> object:
            return real("127.0.0.1" if host == "rebind.example.com" else host, server.port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", rebound)
        with pytest.raises(CallRefused, match="it led to a place that isn't open to us") as refused:
            await post.deliver(url, MESSAGE)
    assert server.received == []
    assert CANARY not in str(refused.value)


async def test_a_redirect_is_not_followed() -> None:
    async with plain(answer(200, b"{}")) as inside:
        away = answer(307, location=inside.url)
        async with plain(away) as server, courier(server.allowed) as post:
            with pytest.raises(CallFailed):
                await post.deliver(f"gotify://{server.allowed}/{CANARY}", MESSAGE)
    assert len(server.received) == 1
    assert inside.received == []


async def test_gotify_on_an_allowed_host_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with plain(answer(200, b"{}")) as server, courier(server.allowed) as post:
        await post.deliver(f"gotify://{server.allowed}/{CANARY}", {**MESSAGE, "markdown": True, "priority": 5})
    assert server.received[0].line.startswith("POST /message")
    assert json.loads(server.received[0].body)["message"] == "Call mum"
    assert CANARY not in caplog.text


async def test_a_service_that_drips_is_left_after_the_limit() -> None:
    released = asyncio.Event()

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"220-")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            released.set()

    async with listening(drip) as port, courier(f"127.0.0.1:{port}", time_limit=0.5) as post:
        with pytest.raises(CallFailed) as failed:
            await post.deliver(f"mailto://127.0.0.1:{port}?from=a@b.de&to=ann@example.com", MESSAGE)
        assert failed.value.category == "timeout"
        await asyncio.wait_for(released.wait(), PATIENCE)


async def test_a_delivery_that_is_given_up_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # Or the library would hang up by itself after a while, and nothing would be shown.
    monkeypatch.setattr("apprise.plugins.email.NotifyEmail.socket_connect_timeout", 600.0)
    connected, released = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()
        released.set()

    async with listening(say_nothing) as port, courier(f"127.0.0.1:{port}") as post:
        url = f"mailto://127.0.0.1:{port}?from=a@b.de&to=ann@example.com"
        delivering = asyncio.create_task(post.deliver(url, MESSAGE))
        await asyncio.wait_for(connected.wait(), PATIENCE)
        delivering.cancel()
        await asyncio.wait_for(released.wait(), PATIENCE)
        with pytest.raises(asyncio.CancelledError):
            await delivering


def test_links_go_below_the_message() -> None:
    buttons = [
        {"action": "view", "label": "Open", "url": "https://example.com"},
        {"action": "http", "label": "Again", "url": "https://example.com/again"},
    ]
    assert as_text({"message": "Hi", "click": "https://x.y", "actions": buttons}) == (
        "Hi\n\nhttps://x.y\nOpen: https://example.com"
    )
    assert as_text({"message": "Hi"}) == "Hi"
