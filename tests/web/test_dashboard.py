"""The dashboard, page by page: what is there is shown, what is pressed is done."""

import re
from datetime import timedelta

import asyncpg
import orjson
import pytest

from cronty import metrics
from cronty.contract.caller import local_caller
from cronty.contract.result import Err, Ok
from cronty.jobs.action import Action
from cronty.jobs.run import run_id
from cronty.web.dashboard.assets import assets
from cronty.web.dashboard.security import CSP
from tests.conftest import START, TRAIL, HandClock, Hands
from tests.web.dashboard_fixtures import ORIGIN, Browser, House, Page, ann, house

__all__ = ["ann", "house"]

PAGES = [
    "/",
    "/week",
    "/jobs",
    "/jobs/new",
    "/jobs/{job}",
    "/jobs/{job}/edit",
    "/runs/{run}",
    "/inbox",
    "/fleet",
    "/settings",
]


async def fired(house: House, hands: Hands, clock: HandClock, **given: object) -> tuple[int, str]:
    """A job and a run of it that has ended."""
    job = await house.job(**given)  # pyright: ignore[reportArgumentType]
    clock.advance(minutes=5, seconds=1)
    await hands.all()
    runs = await house.cronty.service.scheduler.list_runs(local_caller("ann"), job.number)
    assert isinstance(runs, Ok)
    return job.number, runs.value[0].run_id


async def test_every_page_is_there_and_holds_nothing_but_what_is_ours(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job, run = await fired(house, hands, clock, name="Backup", tags=["nightly"])
    for path in PAGES:
        page = await ann.get(path.format(job=job, run=run))
        assert page.flaws() == [], path
        headers = ann.pages[-1].headers
        assert headers["content-security-policy"] == CSP
        assert headers["cache-control"] == "no-store"
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert "unsafe" not in CSP


async def test_an_empty_installation_says_what_to_do(house: House, ann: Browser, hands: Hands) -> None:
    page = await ann.get("/")
    assert all(step in page.text for step in ("Connect an agent", "Add your phone", "Your first reminder"))
    assert page.flaws() == []
    assert "Nothing is planned" in (await ann.get("/?plain")).text
    page = await ann.get("/week")
    assert page.flaws() == []
    assert "Nothing in these days" in page.text
    assert "No jobs yet" in (await ann.get("/jobs")).text
    assert "The inbox is empty" in (await ann.get("/inbox")).text
    assert "Nothing has failed for good" in (await ann.get("/fleet")).text
    assert "No channels yet" in (await ann.get("/settings")).text


async def test_files_are_kept_for_good_under_the_name_of_their_content(ann: Browser) -> None:
    page = await ann.get("/")
    scripts = [one["src"] for one in page.all("script")]
    styles = [one["href"] for one in page.all("link", rel="stylesheet")]
    assert len(scripts) == 2
    assert len(styles) == 1
    for url in [*scripts, *styles]:
        assert url is not None
        answer = await ann.client.get(url)
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
        assert (await ann.client.get(re.sub(r"/[0-9a-f]{12}/", "/000000000000/", url))).status_code == 404
    assert (await ann.client.get("/static/x/../routes.py")).status_code == 404
    style = (await ann.client.get(str(styles[0]))).text
    [font] = re.findall(r'url\("\.\./\.\.(/static/[^"]+)"\)', style)
    assert (await ann.client.get(font)).headers["content-type"] == "font/woff2"
    assert assets().keys() == {
        "app.css", "app.js", "htmx.min.js", "htmx.LICENSE.txt", "icon.svg", "inter-latin.woff2", "inter.LICENSE.txt",
    }  # fmt: skip


async def test_a_job_is_made_from_a_form_and_says_its_rule_back(
    house: House, ann: Browser, hands: Hands, sql: asyncpg.Connection
) -> None:
    page = await ann.get("/jobs/new")
    [once] = page.all("input", name="once")
    fields = {
        "name": "Stand-up", "kind": "prompt", "prompt_text": "What needs me?\r\nSay it.", "prompt_agent": "claude",
        "when": "every weekday at 8:30", "zone": "Europe/Berlin", "tags": "team, reviews", "attempts": "2",
        "once": once["value"] or "",
    }  # fmt: skip
    await ann.post("/jobs", **fields)
    assert ann.went_to == "/jobs/1?done=made"
    await ann.post("/jobs", **fields)
    assert ann.went_to == "/jobs/1?done=made", "pressed twice, made once"
    page = await ann.get("/jobs/1?done=made")
    for said in ("The job is scheduled", "At 08:30 on weekdays, Berlin time", "What needs me?", "team", "For claude"):
        assert said in page.text
    job = await house.cronty.service.scheduler.show(local_caller("ann"), 1)
    assert isinstance(job, Ok)
    assert job.value.action == Action("prompt", (), {"prompt": "What needs me?\nSay it.", "agent": "claude"})
    assert (job.value.tags, job.value.policy.attempts) == (("team", "reviews"), 2)
    origin = await sql.fetchval("select origin from cronty.jobs where number = 1")
    assert orjson.loads(origin) == {"surface": "dashboard"}
    client = await sql.fetchval(f"select client from {TRAIL} where job_id is not null")
    assert orjson.loads(client) == {"surface": "dashboard", "operation": "schedule_job"}


async def test_every_button_asks_for_an_operation_which_is_counted_and_noted(
    house: House, ann: Browser, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await house.job("wakes", task="prompt", kwargs={"prompt": "Look"}, tags=["team"])
    number, failed = await fired(house, hands, clock, name="fails", task="fail", policy={"attempts": 1})
    waiting = run_id(1, START + timedelta(minutes=5))
    before = sum(metrics.REQUESTS.counts.values())
    presses: list[tuple[str, dict[str, str | list[str]]]] = [
        *((f"/jobs/{number}/{act}", {}) for act in ("pause", "resume", "skip", "run", "cancel", "delete", "undelete")),
        ("/jobs/tagged", {"tag": "team", "do": "pause"}),
        ("/jobs/tagged", {"tag": "team", "do": "resume"}),
        ("/inbox", {"receipt": waiting, "outcome": "done"}),
        ("/settings/keys", {"name": "one", "scope": ["read"]}),
        ("/settings/keys/revoke", {"key": "1"}),
        ("/settings/channels", {"name": "phone", "url": "ntfy://127.0.0.1:9/ann"}),
        ("/settings/channels/change", {"remove": "phone"}),
        ("/runs/redrive", {"run": failed}),
    ]
    for path, fields in presses:
        await ann.send(path, **fields)
    assert sum(metrics.REQUESTS.counts.values()) - before == len(presses)
    noted = [
        orjson.loads(row["client"]) for row in await sql.fetch(f"select client from {TRAIL} where client is not null")
    ]
    assert {one.get("operation") for one in noted if one["surface"] == "dashboard"} == {
        "pause_job", "resume_job", "change_slot", "run_job_now", "cancel_job", "delete_job", "undelete_job",
        "acknowledge_inbox", "add_key", "revoke_key", "save_channel", "remove_channel",
    }  # fmt: skip


async def test_a_name_that_is_nearly_a_channels_is_refused_and_a_public_topic_is_called_so(
    house: House, ann: Browser, sql: asyncpg.Connection
) -> None:
    form = {"name": "Milk", "when": "every hour", "zone": "UTC", "kind": "notify", "notify_message": "Milk"}
    await ann.post("/jobs", **form, notify_topic="garden-of-ann")
    assert "everybody who knows its name can read it" in (await ann.get(ann.went_to)).text
    await sql.execute(
        """insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at)
           select id, 'phone', 'ntfy', 'ntfy://…', 'k', 'x', now() from cronty.owners where name = 'ann'"""
    )
    page = await ann.post("/jobs", 422, **form, notify_topic="phnoe")
    assert "Did you mean 'phone'?" in page.text


@pytest.mark.parametrize(
    ("fields", "kwargs"),
    [
        ({"kind": "notify", "notify_topic": "phone", "notify_message": "Tea"}, {"topic": "phone", "message": "Tea"}),
        (
            {"kind": "webhook", "webhook_url": "https://example.com/a", "webhook_body": '{"a": [1]}'},
            {"url": "https://example.com/a", "body": {"a": [1]}},
        ),
        ({"kind": "task", "task": "note", "args": "[1]", "kwargs": "{}"}, {}),
    ],
)
async def test_every_kind_of_job_can_be_made(
    house: House, ann: Browser, hands: Hands, fields: dict[str, str], kwargs: dict[str, object]
) -> None:
    await ann.post("/jobs", name="one", when="every hour", zone="UTC", **fields)
    job = await house.cronty.service.scheduler.show(local_caller("ann"), 1)
    assert isinstance(job, Ok)
    assert (job.value.action.kind, job.value.action.kwargs) == (fields["kind"], kwargs)
    assert "one" in (await ann.get("/jobs/1/edit")).all("input", name="name")[0].values()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"when": "whenever you like"}, "whenever"),
        ({"name": "n" * 201}, "Use 1 to 200 characters"),
        ({"prompt_text": " "}, "Say what the agent should do"),
        ({"kind": "notify", "notify_topic": "phone"}, "Say what to be reminded of"),
        ({"kind": "task"}, "Say which task to run"),
        ({"kind": "task", "task": "note", "args": "[1"}, "isn't JSON"),
        ({"kind": "task", "task": "note", "args": "{}"}, "must be a list"),
        ({"kind": "sorcery"}, "Unknown kind"),
        ({"max_runs": "many"}, "must be a whole number"),
        ({"zone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"attempts": "some"}, "must be a number"),
    ],
)
async def test_what_cant_be_scheduled_is_said_in_the_form_that_keeps_what_was_typed(
    ann: Browser, hands: Hands, fields: dict[str, str], said: str
) -> None:
    good = {"name": "Tea", "kind": "prompt", "prompt_text": "Tea?", "when": "every hour", "zone": "UTC"}
    page = await ann.post("/jobs", 422, **(good | fields))
    assert said in page.text
    assert page.all("input", name="when")[0]["value"] == (good | fields)["when"]
    assert page.flaws() == []
    if "kind" not in fields or fields["kind"] != "sorcery":
        assert [one for one in page.elements if one.attributes.get("aria-invalid")], "said at its field"


async def test_the_words_and_the_next_slots_show_while_one_types(ann: Browser, clock: HandClock) -> None:
    page = await ann.get("/jobs/preview?when=every+day+at+02:30&zone=Europe/Berlin")
    assert "Berlin time At 02:30 every day" in page.text
    assert page.text.count("01:30, UTC") == 5
    clock.advance(days=26)
    assert "clocks go forward that night" in (await ann.get("/jobs/preview?when=30+2+*+*+*&zone=Europe/Berlin")).text
    unclear = await ann.get("/jobs/preview?when=at+8&zone=UTC")
    assert "Which one do you mean?" in unclear.text
    choices = [one["value"] for one in unclear.all("button", name="reading")]
    assert "On Sunday 28 March 2027 at 08:00, UTC" in choices
    assert unclear.all("div", id="asked")[0]["hx-swap-oob"] == "true"
    assert "once it is clear when" in (await ann.get("/jobs/preview?when=&zone=")).text


async def test_one_of_several_meanings_is_chosen_by_a_press(house: House, ann: Browser, hands: Hands) -> None:
    fields = {"kind": "prompt", "prompt_text": "Tea?", "when": "every day at 2", "zone": "UTC", "name": ""}
    page = await ann.post("/jobs", 422, **fields)
    assert "Which one do you mean?" in page.text
    assert page.all("div", role="alert") == [], "it is a question, not an error"
    [chosen] = [one["value"] for one in page.all("button", name="reading") if "14:00" in (one["value"] or "")]
    await ann.post("/jobs", **(fields | {"reading": chosen or ""}))
    job = await house.cronty.service.scheduler.show(local_caller("ann"), 1)
    assert isinstance(job, Ok)
    assert (job.value.name, job.value.said) == ("Tea?", chosen)


async def test_a_reminder_goes_to_a_channel_from_the_list_or_to_a_topic_that_is_called_public(
    house: House, ann: Browser, hands: Hands
) -> None:
    assert "anyone who knows its name can read it" in (await ann.get("/jobs/new")).text
    await ann.post("/settings/channels", name="phone", url="ntfy://127.0.0.1:9/canary-topic-7f3a")
    page = await ann.get("/jobs/new")
    assert [one["value"] for one in page.all("input", name="notify_to")] == ["phone", ""]
    assert "anyone who knows the name can read it" in page.text
    fields = {"kind": "notify", "notify_message": "Tea", "when": "every hour", "zone": "UTC"}
    await ann.post("/jobs", notify_to="phone", notify_topic="", **fields)
    await ann.post("/jobs", notify_to="", notify_topic="my-topic-4711", **fields)
    for number, topic in ((1, "phone"), (2, "my-topic-4711")):
        job = await house.cronty.service.scheduler.show(local_caller("ann"), number)
        assert isinstance(job, Ok)
        assert (job.value.name, job.value.action.kwargs["topic"]) == ("Tea", topic)


async def test_a_job_keeps_the_words_it_was_made_with_on_its_pages(house: House, ann: Browser, hands: Hands) -> None:
    fields = {"name": "Tea", "kind": "prompt", "prompt_text": "Tea?", "when": "weekdays at 4pm", "zone": "UTC"}
    await ann.post("/jobs", **fields)
    page = await ann.get("/jobs/1")
    assert "weekdays at 4pm Read as: At 16:00 on weekdays, UTC." in page.text
    page = await ann.get("/jobs/1/edit")
    assert page.all("input", name="when")[0]["value"] == "weekdays at 4pm"
    await ann.post("/jobs/1/edit", **(fields | {"name": "Late tea", "version": "1"}))
    changed = await house.cronty.service.scheduler.show(local_caller("ann"), 1)
    assert isinstance(changed, Ok)
    assert (changed.value.name, changed.value.said) == ("Late tea", "weekdays at 4pm")


async def test_a_change_keeps_what_it_leaves_alone_and_is_refused_if_somebody_was_quicker(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job = await house.job("Tea", task="prompt", kwargs={"prompt": "Tea?", "data": {"pot": 1}}, tags=["home"])
    clock.advance(minutes=2)
    page = await ann.get(f"/jobs/{job.number}/edit")
    fields = {
        name: page.all("input", name=name)[0]["value"] or "" for name in ("name", "when", "zone", "tags", "version")
    }
    fields |= {"kind": "prompt", "prompt_text": "More tea?", "attempts": "3", "timeout": "3600"}
    await ann.post(f"/jobs/{job.number}/edit", **(fields | {"name": "More tea"}))
    changed = await house.cronty.service.scheduler.show(local_caller("ann"), job.number)
    assert isinstance(changed, Ok)
    assert (changed.value.name, changed.value.trigger, changed.value.next_slot) == (
        "More tea",
        job.trigger,
        job.next_slot,
    )
    assert changed.value.action.kwargs == {"prompt": "More tea?", "data": {"pot": 1}}
    page = await ann.post(f"/jobs/{job.number}/edit", 412, **(fields | {"name": "Less tea"}))
    assert "is at version 2, not 1" in page.text
    assert page.all("input", name="name")[0]["value"] == "Less tea"
    assert (await ann.get(f"/jobs/{job.number}/edit")).all("input", name="version")[0]["value"] == "2"
    await ann.post(f"/jobs/{job.number}/edit", **(fields | {"version": "2", "when": "every 10 minutes"}))
    changed = await house.cronty.service.scheduler.show(local_caller("ann"), job.number)
    assert isinstance(changed, Ok)
    assert changed.value.trigger != job.trigger


async def test_the_buttons_of_a_job_do_what_they_say(house: House, ann: Browser, hands: Hands) -> None:
    job = await house.job("Tea")
    for act, said, status in [
        ("pause", "The job is paused", "Paused"),
        ("resume", "The job is resumed", "next today at"),
        ("run", "It starts as soon as a worker is free", "Waiting"),
        ("cancel", "The job has ended", "Ended"),
    ]:
        await ann.post(f"/jobs/{job.number}/{act}")
        page = await ann.get(ann.went_to)
        assert said in page.text
        assert status in page.text
    page = await ann.post(f"/jobs/{job.number}/pause", 409)
    assert "there is nothing to pause" in page.text
    await ann.post(f"/jobs/{job.number}/delete")
    page = await ann.get(ann.went_to)
    assert "The job is deleted" in page.text
    assert page.all("form", action=f"/jobs/{job.number}/undelete")
    await ann.get(f"/jobs/{job.number}", 404)
    await ann.post(f"/jobs/{job.number}/undelete")
    assert "The job is back" in (await ann.get(ann.went_to)).text


async def test_a_run_is_skipped_and_restored(house: House, ann: Browser, hands: Hands) -> None:
    job = await house.job("Tea")
    await ann.post(f"/jobs/{job.number}/skip")
    page = await ann.get(ann.went_to)
    assert "That one is skipped" in page.text
    assert "skipped: asked for by ann" in page.text
    assert page.flaws() == []
    slot = page.all("input", name="slot")[0]["value"]
    await ann.post(f"/jobs/{job.number}/restore", slot=slot or "")
    page = await ann.get(ann.went_to)
    assert "It runs at its planned time after all" in page.text
    assert "asked for by ann" not in page.text


async def test_a_run_is_moved_from_the_week_in_words_and_back(house: House, ann: Browser, hands: Hands) -> None:
    job = await house.job("Tea", trigger_type="cron", trigger_config={"expression": "0 16 * * *"})
    assert job.next_slot is not None
    page = await ann.get("/week")
    [menu] = [one["hx-get"] for one in page.all("details") if f"slot={job.next_slot:%Y-%m-%d}" in (one["hx-get"] or "")]
    opened = await ann.get(menu or "")
    assert "Move this one to" in opened.text
    slot = opened.all("input", name="slot")[0]["value"] or ""
    asked = {"slot": slot, "next": "/week", "in_": "menu"}
    htmx = {"origin": ORIGIN, "sec-fetch-site": "same-origin", "hx-request": "true", "x-csrf-token": ann.token}
    data = {name.rstrip("_"): value for name, value in asked.items()}
    for words, said in {
        "": "Say when it should run",
        "2020-01-01 09:00": "past",
        "at 5": "Which one do you mean?",
    }.items():
        answer = await ann.client.post(f"/jobs/{job.number}/move", data=data | {"to": words}, headers=htmx)
        assert (answer.status_code, said in Page(answer.text).text) == (200, True), words
    answer = await ann.client.post(f"/jobs/{job.number}/move", data=data | {"to": "17:30"}, headers=htmx)
    assert answer.headers["hx-redirect"] == "/week?done=moved"
    page = await ann.get("/week?done=moved")
    assert "That one is moved" in page.text
    assert "17:30, from 16:00" in page.text
    assert "16:00, moved" in page.text
    await ann.post(f"/jobs/{job.number}/move", 422, slot=slot, to="whenever")
    await ann.post(f"/jobs/{job.number}/restore", slot=slot, next="//elsewhere.example")
    assert ann.went_to == "/?done=restored"
    assert "moved" not in (await ann.get("/week")).text.replace("Moved", "")
    for nonsense in ("nonsense", "2027-03-01T16:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        await ann.get(f"/jobs/{job.number}/slot?slot={nonsense}", 404)
        if nonsense != "2027-03-01T16:00:00":  # which is a time of the job's zone
            await ann.post(f"/jobs/{job.number}/move", 422, slot=nonsense, to="17:30")


async def test_a_week_goes_back_and_forth_and_takes_no_nonsense(house: House, ann: Browser, hands: Hands) -> None:
    await house.job("Tea", trigger_type="cron", trigger_config={"expression": "0 16 * * *"})
    await house.job("Check", trigger_config={"minutes": 5})
    page = await ann.get("/week")
    assert "288 times" in page.text
    assert page.text.count("Tea 16:00") == 5, "two of the seven days are past"
    [later] = [one["href"] for one in page.all("a") if one.get("aria-label") == "A week later"]
    assert (await ann.get(later or "")).text.count("Tea 16:00") == 7
    for nonsense in ("0001-01-01", "9999-12-31", "soon", "2027-13-01"):
        assert (await ann.get(f"/week?from={nonsense}")).flaws() == []


async def test_what_needs_attention_is_acted_on_where_it_stands(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job, run = await fired(house, hands, clock, name="Broken", task="fail", policy={"attempts": 1})
    page = await ann.get("/")
    assert "Broken" in page.text
    assert [one["value"] for one in page.all("input", name="run")] == [run]
    await ann.post("/runs/redrive", run=run, next="/")
    assert ann.went_to == "/?done=again"
    await ann.post(f"/jobs/{job}/pause", next="/")
    assert ann.went_to == "/?done=paused"
    assert (await ann.get(ann.went_to)).flaws() == []


async def test_what_failed_and_is_tried_again_says_so_on_every_page(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job, _ = await fired(house, hands, clock, name="Broken", task="fail", policy={"attempts": 3})
    for path in ("/", "/jobs", f"/jobs/{job}"):
        page = await ann.get(path)
        assert "Failing, will be tried again" in page.text, path
        assert "no luck" in page.text, path
        assert page.flaws() == []


async def test_the_inbox_says_how_many_wait_on_every_page(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    number, _ = await fired(house, hands, clock, name="Ask", task="prompt", kwargs={"prompt": "?", "agent": "codex"})
    for path in ("/", "/jobs", "/week", "/settings", f"/jobs/{number}"):
        assert "Inbox , waiting: 1" in (await ann.get(path)).text, path
    assert "Waiting for codex" in (await ann.get("/jobs")).text
    assert "Waiting for codex" in (await ann.get(f"/jobs/{number}")).text
    async with house.visited(house.by_key()) as other:
        await other.get("/sign-in")
        await other.post("/sign-in", key=await house.key("ann", "read"), next="/jobs")
        assert "waiting: 1" not in (await other.get("/jobs")).text


async def test_jobs_are_searched_filtered_and_continued(house: House, ann: Browser, hands: Hands) -> None:
    for number in range(65):
        await house.job(f"Report {number:02}", tags=["reports"] if number < 3 else [])
    await house.job("Tea", task="notify", kwargs={"topic": "phone", "message": "Tea"})
    page = await ann.get("/jobs?q=tea")
    assert "1 job" in page.text
    assert len(page.all("a", **{"class": "row"})) == 1
    assert "3 jobs tagged reports" in (await ann.get("/jobs?tag=reports")).text
    assert "1 job" in (await ann.get("/jobs?kind=notify")).text
    assert "Nothing fails" in (await ann.get("/jobs?show=failing")).text
    assert "Nothing matches" in (await ann.get("/jobs?q=nothing+like+it")).text
    seen: list[str | None] = []
    page = await ann.get("/jobs")
    for _ in range(3):
        seen += [one["href"] for one in page.all("a", **{"class": "row"})]
        more = [one["hx-get"] for one in page.all("a") if one.get("hx-get")]
        if not more:
            break
        assert more[0] is not None
        page = await ann.get(more[0], 200, **{"hx-request": "true"})
        assert page.all("html") == [], "only the rows"
    assert len(seen) == len(set(seen)) == 66
    await ann.get("/jobs?cursor=nonsense", 422)


async def test_all_jobs_of_a_tag_pause_and_resume(house: House, ann: Browser, hands: Hands) -> None:
    for number in range(3):
        await house.job(f"Report {number}", tags=["a & b"])
    await ann.post("/jobs/tagged", tag="a & b", do="pause")
    page = await ann.get(ann.went_to)
    assert "Paused 3 jobs with this tag" in page.text
    await ann.post("/jobs/tagged", tag="a & b", do="resume")
    assert "Resumed 3 jobs" in (await ann.get(ann.went_to)).text


async def test_a_run_shows_its_attempts_and_can_be_tried_again(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job, run = await fired(house, hands, clock, name="Broken", task="fail", policy={"attempts": 2, "backoff": 1.0})
    clock.advance(seconds=30)
    await hands.all()
    page = await ann.get(f"/runs/{run}")
    for said in (
        "Failed",
        "No luck",
        "As the program said it ValueError: no luck",
        "Tried 2 times",
        "1st attempt",
        "2nd attempt",
        run,
        "Retry",
    ):
        assert said in page.text
    page = await ann.get("/fleet")
    assert "Broken" in page.text
    assert [one["value"] for one in page.all("input", name="run")] == [run]
    assert "Failed: no luck" in (await ann.get("/")).text
    await ann.post("/runs/redrive", run=run, from_="run")
    assert ann.went_to == f"/runs/{run}?done=again"
    assert "Waiting" in (await ann.get(ann.went_to)).text
    await ann.post("/runs/redrive", 404, run=run, from_="run")
    assert (await ann.get(f"/runs/{run}")).all("form", action=f"/runs/{run}/stop")
    await ann.post("/runs/redrive", run=[run, "nonsense"])
    assert ann.went_to == "/fleet?done=again&n=0"
    await ann.post("/runs/redrive")
    assert "Choose the runs" in (await ann.get(ann.went_to)).text
    assert "Waiting" in (await ann.get(f"/jobs/{job}/runs?verdict=waiting")).text
    await ann.post(f"/runs/{run}/stop")
    assert ann.went_to == f"/runs/{run}?done=stopped"
    page = await ann.get(ann.went_to)
    assert "Stopped by request" in page.text
    assert not page.all("form", action=f"/runs/{run}/stop")
    await ann.post(f"/runs/{run}/stop", 409)


async def test_every_slot_of_a_job_says_why_and_older_ones_come_on_demand(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    job = await house.job("Tea", policy={"catch_up": "all"})
    for _ in range(30):
        clock.advance(minutes=5)
        await hands.all()
    page = await ann.get(f"/jobs/{job.number}")
    assert len(page.all("a", **{"class": "row run-row"})) == 25
    assert "Every time, and why" in page.text
    older = [one["hx-get"] for one in page.all("a") if "before=" in (one.get("hx-get") or "")]
    assert older[0] is not None
    rest = await ann.get(older[0])
    assert len(rest.all("a", **{"class": "row run-row"})) == 5
    assert "There is none like that" in (await ann.get(f"/jobs/{job.number}/runs?verdict=failed")).text
    assert len(page.all("svg", **{"class": "year weeks"})) == 1
    assert "30 done" in page.text


async def test_looking_at_the_inbox_takes_nothing_and_a_person_can_settle_it(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    for number in range(4):
        await house.job(f"Ask {number}", task="prompt", kwargs={"prompt": f"Question {number}?"}, max_runs=1)
    clock.advance(minutes=5, seconds=1)
    await hands.all()
    page = await ann.get("/inbox")
    assert all(f"Question {number}?" in page.text for number in range(4))
    receipts = [one["value"] or "" for one in page.all("input", name="receipt")]
    await ann.post("/inbox", receipt=receipts[0], outcome="done", report="It is 42.")
    assert "Marked as done" in (await ann.get(ann.went_to)).text
    assert "It is 42." in (await ann.get(f"/runs/{receipts[0]}")).text
    await ann.post("/inbox", receipt=receipts[1], outcome="failed")
    await ann.post("/inbox", receipt=receipts[2], outcome="snooze", until="1h")
    page = await ann.post("/inbox", 422, receipt=receipts[3], outcome="snooze", until="2020-01-01T09:00:00Z")
    assert "past" in page.text
    page = await ann.get("/inbox")
    assert len(page.all("input", name="receipt")) == 2
    await ann.post("/inbox", receipt=receipts[0], outcome="done")
    assert ann.went_to == "/inbox?done=late"
    handed = await house.cronty.service.inbox.read(local_caller("ann"))
    assert isinstance(handed, Ok)
    assert [item.attempt for item in handed.value] == [1], "nobody had taken it by looking"
    await ann.post("/inbox", receipt=receipts[3], outcome="quiet")
    assert ann.went_to == "/inbox?done=quiet", "a person's word counts, whoever holds it"


async def test_a_key_is_shown_once_and_revoked(house: House, ann: Browser) -> None:
    page = await ann.post("/settings/keys", 200, name="laptop", scope=["read", "run"], lasts="90", agent="claude")
    [shown] = page.all("input", id="made")
    key = shown["value"] or ""
    assert key.startswith("cronty_")
    known = await house.cronty.service.identity.identify(key)
    assert isinstance(known, Ok)
    assert (known.value.owner, known.value.scopes, known.value.agent) == ("ann", {"read", "run"}, "claude")
    page = await ann.get("/settings")
    assert key not in ann.pages[-1].text
    assert "laptop" in page.text
    await ann.post("/settings/keys/revoke", key="1")
    assert isinstance(await house.cronty.service.identity.identify(key), Err)
    assert "revoked" in (await ann.get("/settings")).text
    assert "Key not found" in (await ann.post("/settings/keys/revoke", 404, key="1")).text
    assert "Unknown scope" in (await ann.post("/settings/keys", 422, name="x", scope="everything")).text


async def test_a_channel_is_added_without_its_address_ever_being_shown(house: House, ann: Browser) -> None:
    await ann.post("/settings/channels", name="phone", url="ntfy://127.0.0.1:9/canary-topic-7f3a")
    page = await ann.get(ann.went_to)
    assert "phone" in page.text
    assert "canary-topic-7f3a" not in ann.pages[-1].text
    page = await ann.post("/settings/channels", 422, name="Not A Name", url="ntfy://x")
    assert "Invalid channel name" in page.text
    await ann.post("/settings/channels/change", remove="phone")
    assert "No channels yet" in (await ann.get("/settings")).text
    await ann.post("/settings/channels/change", 404, remove="phone")


async def test_a_zone_that_the_words_name_is_not_said_again(house: House, ann: Browser, hands: Hands) -> None:
    await house.job("Tea", trigger_type="words", trigger_config={"text": "every day at 9 in Tokyo"})
    page = await ann.get("/jobs")
    assert "every day at 9 in Tokyo" in page.text
    assert "Tokyo time" not in page.text


async def test_the_browsers_zone_counts_until_one_is_chosen(house: House, ann: Browser) -> None:
    for said, status in [("", 204), ("Mars/Olympus", 204), ("America/New_York", 201), ("Asia/Tokyo", 204)]:
        await ann.post("/settings/zone/suggest", status, zone=said)
    [field] = (await ann.get("/settings")).all("input", id="s-zone")
    assert field["value"] == "America/New_York"
    await ann.post("/settings/zone", zone="Europe/Berlin")
    assert ann.went_to == "/settings?done=zone"
    assert "Berlin time" in (await ann.get("/")).text
    assert "Unknown time zone: Berln" in (await ann.post("/settings/zone", 422, zone="Berln")).text


async def test_light_and_dark_are_remembered(ann: Browser) -> None:
    assert "data-theme" not in (await ann.get("/")).all("html")[0]
    await ann.post("/theme", theme="dark", next="/jobs?q=a")
    assert ann.went_to == "/jobs?q=a"
    assert (await ann.get("/")).all("html")[0]["data-theme"] == "dark"
    await ann.post("/theme", theme="", next="//elsewhere.example")
    assert ann.went_to == "/"
    assert "data-theme" not in (await ann.get("/")).all("html")[0]
