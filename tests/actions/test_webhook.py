"""Signed webhooks, to servers on loopback, and to the receivers we show people."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from cronty.actions.outbound import Outbound
from cronty.actions.signatures import secrets_of
from cronty.actions.tasks import CurrentRun, Registry, outcome_of_async
from cronty.actions.webhook import Webhook, check_headers
from cronty.jobs.action import Action
from cronty.jobs.arguments import check_arguments
from cronty.jobs.outcome import Done, Failed, Outcome
from cronty.tracing import within
from examples import webhook_pydantic_ai, webhook_starlette
from tests.actions.servers import anns, answer, plain, serving
from tests.conftest import HandClock
from tests.patience import PATIENCE
from tests.spans import GIVEN, collecting

RUN = CurrentRun(1024, 7168, 7, datetime(2027, 3, 1, 8, tzinfo=UTC), 2)
OLD_KEY, NEW_KEY = b"o" * 32, b"n" * 32
[OLD, NEW] = secrets_of([OLD_KEY, NEW_KEY], "webhook", "ann")


async def perform(url: str, allowed: str, keys: tuple[bytes, ...] = (), **arguments: object) -> Outcome:
    """The way the engine does it: a registered task, JSON arguments, an outcome."""
    outbound = Outbound([allowed], own="ann")
    task = Registry().add(Webhook(outbound, anns, lambda: keys).webhook, "webhook")
    given = {"url": url, **arguments}
    try:
        assert check_arguments(Action("webhook", (), given), task.parameters) is None
        return await outcome_of_async(task, RUN, json.dumps({"args": [], "kwargs": given}))
    finally:
        await outbound.aclose()


def failure(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed)
    return outcome


async def test_the_body_says_which_run_it_is_and_brings_the_payload() -> None:
    async with plain(answer(202, b"thanks")) as server:
        outcome = await perform(
            server.url + "/hook?x=1", server.allowed, body={"prompt": "hi"}, headers={"X-Team": "a b"}
        )
    assert outcome == Done('{"status":202,"response":"thanks","truncated":false}')
    sent = server.received[0]
    body = json.loads(sent.body)
    assert sent.line == "POST /hook?x=1 HTTP/1.1"
    assert (sent.headers["content-type"], sent.headers["x-team"]) == ("application/json", "a b")
    assert body["type"] == "schedule.fired"
    assert abs(datetime.now(UTC) - datetime.fromisoformat(body["timestamp"])) < timedelta(minutes=1)
    assert body["data"] == {
        "owner": "ann",
        "run_id": RUN.run_id,
        "job_id": 7,
        "scheduled_for": "2027-03-01T08:00:00Z",
        "attempt": 2,
        "epoch": 0,
        "payload": {"prompt": "hi"},
    }


@pytest.mark.parametrize("payload", [None, "text", [1, 2], {}])
async def test_any_json_may_be_the_payload(payload: object) -> None:
    async with plain(answer(200)) as server:
        await perform(server.url, server.allowed, body=payload, method="PUT")
    assert server.received[0].line == "PUT / HTTP/1.1"
    assert json.loads(server.received[0].body)["data"]["payload"] == payload


async def test_without_a_key_it_is_not_signed_but_still_says_its_id() -> None:
    async with plain(answer(200)) as server:
        await perform(server.url, server.allowed)
    assert server.received[0].headers["webhook-id"] == RUN.idempotency_key == "msg_7168_1803888000000000"
    assert "webhook-signature" not in server.received[0].headers


async def test_where_spans_are_collected_the_receiver_is_told_in_which_one_it_is_called() -> None:
    async with plain(answer(200)) as server:
        with collecting(), within(GIVEN):
            await perform(server.url, server.allowed)
        with within(GIVEN):
            await perform(server.url, server.allowed)
    told, untold = (one.headers for one in server.received)
    assert told["traceparent"] == GIVEN
    assert "tracestate" not in told
    assert "traceparent" not in untold


@pytest.mark.parametrize("name", ["traceparent", "TraceParent", "tracestate"])
def test_the_span_is_ours_to_say(name: str) -> None:
    assert "ours to set" in (check_headers({name: GIVEN}) or "")


async def test_while_keys_change_over_receivers_of_either_one_can_verify() -> None:
    async with plain(answer(200)) as server:
        await perform(server.url, server.allowed, (NEW_KEY, OLD_KEY))
    sent = server.received[0]
    assert len(sent.headers["webhook-signature"].split(" ")) == 2
    for secret in (OLD, NEW):
        assert Verifier(secret).verify(sent.body, sent.headers)["data"]["job_id"] == 7
    with pytest.raises(WebhookVerificationError):
        Verifier("whsec_" + "A" * 32).verify(sent.body, sent.headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(OLD).verify(sent.body + b" ", sent.headers)


async def test_each_attempt_has_the_same_id_and_a_moment_of_its_own() -> None:
    clock = HandClock()
    async with plain(answer(503), answer(200)) as server:
        outbound = Outbound([server.allowed], own="ann")
        task = Registry().add(Webhook(outbound, anns, lambda: [OLD_KEY], clock=clock).webhook, "webhook")
        for _ in range(2):
            await outcome_of_async(task, RUN, json.dumps({"args": [server.url], "kwargs": {}}))
            clock.advance(seconds=5)
        await outbound.aclose()
    first, second = (one.headers for one in server.received)
    assert first["webhook-id"] == second["webhook-id"] == RUN.idempotency_key
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 5
    assert first["webhook-signature"] != second["webhook-signature"]


async def test_nobodys_receiver_takes_what_another_owner_or_a_wake_has_signed() -> None:
    async with plain(answer(200)) as server:
        outbound = Outbound([server.allowed], own="ann")
        webhook = Webhook(outbound, anns, lambda: [NEW_KEY])
        task = Registry().add(webhook.webhook, "webhook")
        await outcome_of_async(task, RUN, json.dumps({"args": [server.url], "kwargs": {}}))

        async def wake() -> object:
            return await webhook.wake("ops", server.url, "ann", {"prompt": "hi"})

        await outcome_of_async(Registry().add(wake), RUN, json.dumps({"args": [], "kwargs": {}}))
        await outbound.aclose()
    fired, woken = server.received
    [anns_own], [bobs], [of_ops], [of_another] = (
        *(secrets_of([NEW_KEY], "webhook", owner) for owner in ("ann", "bob")),
        *(secrets_of([NEW_KEY], "wake", agent) for agent in ("ops", "ann")),
    )
    assert Verifier(anns_own).verify(fired.body, fired.headers)["type"] == "schedule.fired"
    said = Verifier(of_ops).verify(woken.body, woken.headers)
    assert (said["type"], said["data"]["owner"], said["data"]["agent"]) == ("agent.woken", "ann", "ops")
    for call, secrets in ((fired, (bobs, of_ops, of_another)), (woken, (anns_own, bobs, of_another))):
        for secret in secrets:
            with pytest.raises(WebhookVerificationError):
                Verifier(secret).verify(call.body, call.headers)


async def test_a_host_that_is_allowed_to_one_owner_is_not_to_another() -> None:
    outbound = Outbound(["10.0.0.1", "10.0.0.2:8080@ann", "10.0.0.3@*", "10.0.0.4@https://id.example|b@c"])
    urls = ["http://10.0.0.1/", "http://10.0.0.2:8080/", "http://10.0.0.3/", "http://10.0.0.4/"]

    def open_to(owner: str | None) -> list[str]:
        return [url for url in urls if Webhook(outbound, anns).check(url, owner=owner) is None]

    assert open_to("local") == [urls[0], urls[2]], "the owner of the installation"
    assert open_to(None) == [urls[0], urls[2]], "what the operator has set up"
    assert open_to("ann") == urls[1:3]
    assert open_to("bob") == [urls[2]]
    assert open_to("https://id.example|b@c") == urls[2:]
    await outbound.aclose()


# -- answers ----------------------------------------------------------------------------------------------------


async def test_of_a_long_answer_the_beginning_is_kept_and_made_harmless() -> None:
    async with plain(answer(200, b"line one\nline\x1b two\0" + OLD.encode() + b"x" * 100_000)) as server:
        outcome = await perform(server.url, server.allowed, (OLD_KEY,))
    assert isinstance(outcome, Done)
    kept = json.loads(outcome.result or "")
    assert kept["truncated"] is True
    assert kept["response"].startswith("line one\nline  two [secret]xxx")
    assert len(kept["response"]) == 2048


@pytest.mark.parametrize("status", [200, 404, 500])
async def test_a_receiver_that_says_what_it_was_called_by_gives_nothing_away(status: int) -> None:
    """Many a server answers with the path and the query it doesn't know, or with all headers."""
    keys = {
        "query": "sk-in-the-query",
        "spelled": "s%2Fk in two ways",
        "path": "T0000-B0000-XXXXXXXX",
        "head": "k-1234567",
    }
    path = f"/hooks/{keys['path']}?token={keys['query']}&other=s%252Fk%20in+two%20ways&n=1"
    echo = f"Cannot POST {path} ({keys['spelled']}) with {keys['head']}, n=1"
    async with plain(answer(status, echo.encode())) as server:
        outcome = await perform(server.url + path, server.allowed, headers={"X-Api-Key": keys["head"]})
    assert server.received[0].line == f"POST {path} HTTP/1.1"
    said = (outcome.result if isinstance(outcome, Done) else failure(outcome).error) or ""
    assert "Cannot POST /hooks/[secret]?token=[secret]&other=[secret]&n=1" in said
    assert [one for one in keys.values() if one in said] == []


async def test_gone_means_never_again() -> None:
    async with plain(answer(410)) as server:
        failed = failure(await perform(server.url, server.allowed))
    assert failed.permanent
    assert failed.error.endswith("answered 410. Gone: the receiver asked not to be called again.")


@pytest.mark.parametrize("status", [400, 401, 404, 413, 302])
async def test_a_refusal_is_final(status: int) -> None:
    async with plain(answer(status, b"no\nway", location="http://127.0.0.1:1/")) as server:
        failed = failure(await perform(server.url, server.allowed))
    assert failed.permanent
    assert f"answered {status}; the server said: 'no way'." in failed.error
    assert len(server.received) == 1


@pytest.mark.parametrize(("status", "header", "wait"), [(429, "60", 60), (503, "99999", 3600), (502, "", 0)])
async def test_a_busy_receiver_is_called_again_no_earlier_than_it_wants(status: int, header: str, wait: int) -> None:
    async with plain(answer(status, retry_after=header)) as server:
        failed = failure(await perform(server.url, server.allowed))
    assert (failed.permanent, failed.wait) == (False, timedelta(seconds=wait))


async def test_a_receiver_that_names_a_date_is_called_again_after_it() -> None:
    later = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    async with plain(answer(503, retry_after=later)) as server:
        failed = failure(await perform(server.url, server.allowed))
    assert timedelta(minutes=4) < failed.wait <= timedelta(minutes=5)


async def test_a_receiver_that_is_away_is_tried_again() -> None:
    async with plain(answer(200)) as server:
        pass
    failed = failure(await perform(server.url, server.allowed))
    assert not failed.permanent


async def test_a_forbidden_target_is_never_tried_again() -> None:
    failed = failure(await perform("https://169.254.169.254/latest/", "ntfy.internal"))
    assert failed.permanent
    assert "metadata" in failed.error


# -- what may be asked for --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "internal"}, {"content-length": "5"}, {"Transfer-Encoding": "chunked"}, {"Connection": "close"},
        {"Upgrade": "h2c"}, {"TE": "trailers"}, {"Webhook-Id": "x"}, {"webhook-signature": "x"}, {"Proxy-X": "y"},
        {"Authorization": "Bearer x"}, {"Cookie": "a=b"}, {"Content-Type": "text/plain"}, {"Expect": "100-continue"},
        {"X-A": "a\r\nHost: b"}, {"X-A\r\nHost": "b"}, {"X A": "b"}, {"": "b"}, {"X-A": ""}, {"X-A": " b"},
        {"X-A": "ä"}, {"X-A": "b" * 4097}, {"X-A": 7}, {f"X-{n}": "b" for n in range(21)},
    ],
)  # fmt: skip
def test_headers_that_are_ours_or_break_lines_are_refused(headers: dict[str, object]) -> None:
    flaw = check_headers(headers)
    assert flaw is not None
    assert flaw.isprintable()


async def test_it_can_be_checked_before_it_is_scheduled() -> None:
    outbound = Outbound()
    webhook = Webhook(outbound, anns)
    assert webhook.check("https://example.com/hook", {"X-Team": "a"}, "PUT") is None
    assert webhook.check("https://example.com/", {"Host": "x"}) == "Header 'Host' is ours to set; leave it out."
    assert webhook.check("https://example.com/", None, "DELETE") == "method must be POST or PUT, not 'DELETE'."
    assert webhook.check("http://example.com/") == "We don't call 'example.com': only https is allowed."
    await outbound.aclose()


# -- the receivers we show people -------------------------------------------------------------------------------


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("example", [webhook_starlette, webhook_pydantic_ai], ids=lambda module: module.__name__)
@pytest.mark.parametrize("keys", [(), (NEW_KEY,)], ids=["unsigned", "wrongly signed"])
async def test_a_receiver_refuses_what_its_secret_did_not_sign(
    example: ModuleType, keys: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", OLD)
    async with serving(example.app) as port:
        failed = failure(await perform(f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}", keys))
    assert failed.permanent
    assert "answered 401" in failed.error


async def test_the_starlette_receiver_works_once_per_run_however_often_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Any] = []

    async def work(event: dict[str, object]) -> None:
        done.append(event["data"])

    monkeypatch.setenv("WEBHOOK_SECRET", OLD)
    monkeypatch.setattr(webhook_starlette, "work", work)
    monkeypatch.setattr(webhook_starlette, "seen", set[str]())
    async with serving(webhook_starlette.app) as port:
        for _ in range(2):
            outcome = await perform(f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}", (OLD_KEY, NEW_KEY), body={"a": 1})
            assert outcome == Done('{"status":202,"response":"","truncated":false}')
        await until(lambda: done)
    assert [one["payload"] for one in done] == [{"a": 1}]


async def test_the_agent_is_woken_with_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", NEW)
    monkeypatch.setattr(webhook_pydantic_ai, "answers", answers := dict[str, str | None]())
    model = TestModel(custom_output_text="good morning")
    with webhook_pydantic_ai.agent.override(model=model):
        async with serving(webhook_pydantic_ai.app) as port:
            await perform(
                f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}", (OLD_KEY, NEW_KEY), body={"prompt": "wake up"}
            )
            await until(lambda: answers.get(RUN.idempotency_key))
    assert answers == {RUN.idempotency_key: "good morning"}
