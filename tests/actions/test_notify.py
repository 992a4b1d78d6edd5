"""Publishing through ntfy, to a server on loopback that answers as ntfy does."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronty.actions.notify import Notify, Token, check_notification, with_note
from cronty.actions.outbound import Outbound
from cronty.actions.tasks import CurrentRun, Registry, outcome_of_async
from cronty.jobs.action import Action
from cronty.jobs.arguments import check_arguments
from cronty.jobs.envelope import RunFacts
from cronty.jobs.outcome import Done, Failed, Outcome
from tests.actions.servers import Plain, answer, plain

TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
RUN = CurrentRun(1024, 7168, 7, datetime(2027, 3, 1, 8, tzinfo=UTC), 2)
PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000,"event":"message","topic":"ann-alerts","message":"hi"}')

EVERYTHING: dict[str, object] = {
    "message": "**Backup** finished",
    "topic": "ann-alerts",
    "title": "Backups 🎉",
    "priority": 4,
    "tags": ["tada", "srv1"],
    "markdown": True,
    "click": "https://example.com/backups",
    "icon": "https://example.com/icon.png",
    "attach": "https://example.com/log.txt",
    "filename": "log.txt",
    "actions": [
        {"action": "view", "label": "Open", "url": "https://example.com", "clear": True},
        {"action": "http", "label": "Again", "url": "https://example.com/again", "method": "PUT", "body": "x"},
        {"action": "broadcast", "label": "Photo", "extras": {"cmd": "pic"}},
    ],
}


async def perform(server: Plain, /, **arguments: object) -> Outcome:
    """The way the engine does it: a registered task, JSON arguments, an outcome."""
    outbound = Outbound([server.allowed])
    task = Registry().add(Notify(outbound, server.url, Token(TOKEN, frozenset({None}))).notify, "notify")
    given = {"message": "hi", "topic": "ann-alerts", **arguments}
    try:
        assert check_arguments(Action("notify", (), given), task.parameters) is None
        return await outcome_of_async(task, RUN, json.dumps({"args": [], "kwargs": given}))
    finally:
        await outbound.aclose()


async def test_a_notification_is_published_and_what_ntfy_says_of_it_is_kept() -> None:
    async with plain(PUBLISHED) as server:
        outcome = await perform(server)
    assert outcome == Done('{"id":"sPs71M8A2T","topic":"ann-alerts","time":1803888000}')
    sent = server.received[0]
    assert sent.line == "POST / HTTP/1.1"
    assert json.loads(sent.body) == {"topic": "ann-alerts", "message": "hi"}


async def test_every_field_goes_out_under_ntfys_name_for_it() -> None:
    async with plain(PUBLISHED) as server:
        assert isinstance(await perform(server, **EVERYTHING), Done)
    assert json.loads(server.received[0].body) == EVERYTHING


async def test_the_run_goes_along_as_a_sequence_so_that_a_second_attempt_replaces_the_first() -> None:
    async with plain(PUBLISHED) as server:
        await perform(server)
        await perform(server)
    assert {one.headers["x-sequence-id"] for one in server.received} == {RUN.idempotency_key}


async def test_a_token_is_sent_and_never_shown() -> None:
    async with plain(answer(403, f'{{"error":"no, {TOKEN} may not"}}'.encode())) as server:
        outcome = await perform(server)
    assert server.received[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert isinstance(outcome, Failed)
    assert outcome.error.endswith("; the server said: 'no, [token] may not'. Trying again can't help.")


async def test_outside_of_a_run_it_can_be_tried_out() -> None:
    async with plain(PUBLISHED) as server:
        outbound = Outbound([server.allowed])
        facts = await Notify(outbound, server.url + "/").notify("hi", "ann-alerts")
        await outbound.aclose()
    assert facts["id"] == "sPs71M8A2T"
    assert {"x-sequence-id", "authorization"}.isdisjoint(server.received[0].headers)


@pytest.mark.parametrize(("status", "header", "wait"), [(429, "120", 120), (503, "7200", 3600), (500, "", 0)])
async def test_a_busy_server_is_asked_again_no_earlier_than_it_wants(status: int, header: str, wait: int) -> None:
    async with plain(answer(status, b'{"error":"limit reached"}', retry_after=header)) as server:
        outcome = await perform(server)
    assert isinstance(outcome, Failed)
    assert (outcome.permanent, outcome.wait) == (False, timedelta(seconds=wait))
    assert outcome.error == f"'127.0.0.1' answered {status}; the server said: 'limit reached'."


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413])
async def test_what_ntfy_will_not_take_is_not_sent_again(status: int) -> None:
    body = json.dumps({"code": 40009, "http": status, "error": "bad\x1b[31m\n" + "x" * 500}).encode()
    async with plain(answer(status, body)) as server:
        outcome = await perform(server)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert f"answered {status}; the server said: 'bad [31m xxx" in outcome.error
    assert len(outcome.error) < 320
    assert outcome.error.isprintable()


@pytest.mark.parametrize(
    "body", [b"<html>Welcome!</html>", b"[]", b"{}", b'{"id": 7}', b'{"id": "' + b"x" * 99 + b'"}']
)
async def test_an_answer_that_is_not_ntfys_is_no_delivery(body: bytes) -> None:
    async with plain(answer(200, body)) as server:
        outcome = await perform(server)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert "not as ntfy does" in outcome.error


async def test_an_answer_that_was_cut_off_is_tried_again() -> None:
    async with plain(b'HTTP/1.0 200 OK\r\n\r\n{"id":"sPs') as server:
        outcome = await perform(server)
    assert outcome == Failed("'127.0.0.1' answered 200, but the answer was cut off.")


async def test_a_server_that_is_away_is_tried_again() -> None:
    async with plain(PUBLISHED) as server:
        pass
    outcome = await perform(server)
    assert outcome == Failed("Calling '127.0.0.1' failed: it refused the connection.")


async def test_a_private_server_that_nobody_allowed_is_not_called() -> None:
    async with plain(PUBLISHED) as server:
        outbound = Outbound()
        task = Registry().add(Notify(outbound, server.url).notify, "notify")
        outcome = await outcome_of_async(task, RUN, '{"args": ["hi", "ann-alerts"], "kwargs": {}}')
        await outbound.aclose()
    assert outcome == Failed("We don't call '127.0.0.1': only https is allowed.", permanent=True)
    assert server.received == []


async def test_what_cannot_be_sent_is_refused_without_asking_ntfy() -> None:
    async with plain(PUBLISHED) as server:
        outcome = await perform(server, topic="Ann's alerts")
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert 'not "Ann\'s alerts".' in outcome.error
    assert server.received == []


# -- what a notification may hold -------------------------------------------------------------------------------


def test_nothing_is_wrong_with_everything() -> None:
    assert check_notification(**EVERYTHING) is None


@pytest.mark.parametrize("topic", ["a", "a1", "ann-alerts", "1-2-3", "x" * 64])
def test_a_topic_is_letters_and_digits_with_single_dashes(topic: str) -> None:
    assert check_notification("hi", topic) is None


@pytest.mark.parametrize(
    "topic", ["", "-a", "a-", "a--b", "A", "a_b", "a b", "ä", "a/b", "../x", "x" * 65, "a\n", None, 7]
)
def test_any_other_topic_is_named_with_the_rule(topic: object) -> None:
    flaw = check_notification("hi", topic)
    assert flaw is not None
    assert flaw.message.startswith("topic must be 1 to 64 lower-case letters and digits with single dashes")
    assert flaw.message.endswith(f"not {topic!r}.")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("message", "", "message must be a string, not ''."),
        ("message", " \n", "message must be a string"),
        ("message", None, "message must be a string, not None."),
        ("message", "ä" * 2049, "message has 4098 bytes, and ntfy shows at most 4096"),
        ("title", "", "title must be one line of 1 to 250 characters, not ''."),
        ("title", "a\nb", "not 'a\\nb'."),
        ("title", "x" * 251, "title must be one line"),
        ("priority", 0, "priority must be a whole number from 1 to 5, not 0."),
        ("priority", 6, "not 6."),
        ("priority", True, "not True."),
        ("priority", "high", "not 'high'."),
        ("priority", 3.0, "not 3.0."),
        ("tags", "tada", "tags must be a list of at most 20 labels, not 'tada'."),
        ("tags", ["a"] * 21, "at most 20"),
        ("tags", ["a,b"], "A tag must be 1 to 64 characters without commas, not 'a,b'."),
        ("tags", [""], "A tag must be"),
        ("tags", [7], "not 7."),
        ("markdown", "yes", "markdown must be true or false, not 'yes'."),
        ("click", "javascript:alert(1)", "click must be a URL that begins with geo, http, https, mailto, ntfy, tel"),
        ("click", "example.com", "not 'example.com'."),
        ("click", "https:", "click must be"),
        ("icon", "mailto:a@b.c", "icon must be a URL that begins with http, https, not 'mailto:a@b.c'."),
        ("icon", "data:image/png;base64,xx", "icon must be"),
        ("attach", "file:///etc/passwd", "attach must be a URL"),
        ("attach", "https://example.com/" + "x" * 2048, "attach must be a URL"),
        ("filename", "log.txt", "filename 'log.txt' names an attachment: give its URL in attach as well."),
        ("actions", {}, "actions must be a list of buttons, not {}."),
        ("actions", ["view"] * 4, "actions holds 4 buttons, and a notification has room for 3."),
        ("actions", ["view"], "A button must be an object with action and label, not 'view'."),
        ("actions", [{"action": "explode"}], "A button's action must be one of view, http, broadcast, not 'explode'."),
        ("actions", [{"action": "view", "url": "https://x.y"}], "A button needs a label"),
        ("actions", [{"action": "view", "label": "Open"}], "A button with action 'view' needs a url"),
        ("actions", [{"action": "view", "label": "a\n", "url": "https://x.y"}], "A button's label must be one line"),
        ("actions", [{"action": "http", "label": "a", "url": "tel:1"}], "A button's url must be a URL"),
        ("actions", [{"action": "view", "label": "a", "url": "https://x.y", "body": ""}], "has no 'body'; it takes"),
    ],
)
def test_a_flaw_is_named_with_the_value_and_what_is_accepted(field: str, value: object, said: str) -> None:
    flaw = check_notification(**{"message": "hi", "topic": "a", field: value})
    assert flaw is not None
    assert said in flaw.message


@pytest.mark.parametrize(("owner", "sent"), [("ann", True), ("bob", False)])
async def test_the_operators_token_goes_only_with_what_it_is_meant_for(owner: str, sent: bool) -> None:
    async def about(_owner_id: int, _job_id: int, slot: datetime) -> RunFacts:
        return RunFacts(1, owner, "a job", "UTC", slot, None, slot, None, asked_for=False, now=slot)

    async with plain(PUBLISHED) as server:
        outbound = Outbound([server.allowed])
        notify = Notify(outbound, server.url, Token(TOKEN, frozenset({"ann"})), about=about)
        task = Registry().add(notify.notify, "notify")
        await outcome_of_async(task, RUN, json.dumps({"args": ["hi", "ann-alerts"], "kwargs": {}}))
        await notify.push(None, owner, message="hi", topic="ann-alerts")
        await outbound.aclose()
    assert [("authorization" in one.headers) for one in server.received] == [sent, sent]


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (timedelta(seconds=30), "Call mum"),
        (timedelta(hours=5), "Call mum\n(planned for 09:00)"),
        (timedelta(hours=30), "Call mum\n(planned for Sun 15 Nov 09:00)"),
        (timedelta(days=60), "Call mum\n(planned for Sun 15 Nov 2026 09:00)"),
    ],
)
async def test_what_arrives_late_says_when_it_was_planned_for(late: timedelta, said: str) -> None:
    nine = datetime(2026, 11, 15, 14, tzinfo=UTC)

    async def about(_owner_id: int, _job_id: int, slot: datetime) -> RunFacts:
        return RunFacts(1, "ann", "mum", "America/New_York", slot, None, slot, None, asked_for=False, now=slot + late)

    async with plain(PUBLISHED) as server:
        outbound = Outbound([server.allowed])
        task = Registry().add(Notify(outbound, server.url, about=about).notify, "notify")
        run = replace(RUN, scheduled_for=nine)
        await outcome_of_async(task, run, json.dumps({"args": ["Call mum", "ann-alerts"], "kwargs": {}}))
        await outbound.aclose()
    assert json.loads(server.received[0].body)["message"] == said


def test_a_long_message_is_shortened_to_make_room_for_the_note() -> None:
    noted = with_note("é" * 2048, "planned for 09:00")
    assert len(noted.encode()) <= 4096
    assert noted.endswith("é\n(planned for 09:00)")
