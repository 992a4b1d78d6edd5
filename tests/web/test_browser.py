"""The dashboard in a real browser: clicked through, looked at in every light, read by axe, and attacked."""

import re
from pathlib import Path

import asyncpg
import orjson
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.serving import Served
from tests.web.browser_fixtures import (
    Look,
    axe,
    chromium,
    demo,
    furnished,
    looking,
    noticed,
    pictures,
    violations,
)
from tests.web.browser_payloads import PAYLOADS

__all__ = ["chromium", "demo", "pictures"]

PAGES = {
    "now": "/",
    "week": "/week",
    "first": "/?first",
    "jobs": "/jobs",
    "tag": "/jobs?tag=agents",
    "paused": "/jobs?show=paused",
    "new": "/jobs/new",
    "job": "/jobs/2",
    "failing": "/jobs/5",
    "edit": "/jobs/2/edit",
    "inbox": "/inbox",
    "fleet": "/fleet",
    "settings": "/settings",
    "missing": "/jobs/99999",
}
SHOWN: dict[tuple[str, Look], str] = {("now", "light"): "now", ("week", "dark"): "week", ("jobs", "phone"): "phone"}
"""The pictures that the README shows."""


def test_a_job_is_made_fires_is_seen_and_is_paused_by_clicking(chromium: Browser, demo: Served) -> None:
    with looking(chromium, demo) as page:
        page.goto(demo.url)
        page.get_by_role("link", name="New job").click()
        page.get_by_role("radio", name="Task").check()
        page.get_by_label("Task", exact=True).last.fill("greet")
        page.get_by_label("Named arguments").fill('{"name": "Ann"}')
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Name", exact=True).fill("Greeting")
        page.get_by_role("textbox", name="When").fill("every 2 seconds")
        expect(page.locator("#preview")).to_contain_text("Every 2 seconds")
        page.get_by_role("button", name="Schedule").click()
        expect(page.get_by_role("status").first).to_contain_text("The job is scheduled")
        # Nothing is reloaded by hand: what happens comes by itself.
        page.locator("#runs .v-done").first.wait_for()
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".facts-line")).to_contain_text("Paused")
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        page.locator("#runs a.row").first.click()
        expect(page.get_by_role("main")).to_contain_text("hello Ann")
        expect(page.locator(".facts-line")).to_contain_text("Done")
        page.get_by_role("link", name="Greeting").click()
        page.get_by_label("More actions").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.locator(".toast")).to_contain_text("The job is deleted")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status").first).to_contain_text("The job is back")
        page.get_by_label("More actions").click()
        page.get_by_role("button", name="Delete").click()
        assert noticed(page) == []


def test_keys_and_search_need_no_mouse(chromium: Browser, demo: Served) -> None:
    with looking(chromium, demo) as page:
        page.goto(demo.url)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("g")
        page.keyboard.press("j")
        page.wait_for_url("**/jobs")
        page.keyboard.press("/")
        expect(page.locator("#search")).to_be_focused()
        page.keyboard.type("backup")
        expect(page.locator("#live")).to_contain_text("1 job")
        expect(page).to_have_url(f"{demo.url}/jobs?q=backup&kind=&tag=")
        expect(page.locator("#search")).to_be_focused()
        page.locator("h1").click()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Dark").first.click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        page.get_by_role("button", name="System").first.click()
        assert noticed(page) == []


def test_what_somebody_types_is_not_swept_away_by_what_happens(chromium: Browser, demo: Served) -> None:
    with looking(chromium, demo) as page, looking(chromium, demo) as elsewhere:
        page.goto(f"{demo.url}/inbox")
        page.get_by_text("Answer", exact=True).first.click()
        page.get_by_label("Your answer").first.fill("I am still thinking")
        page.evaluate(
            "() => { window.told = new Promise((told) => new EventSource('/live').addEventListener('changed', told)) }"
        )
        elsewhere.goto(f"{demo.url}/jobs/new")
        elsewhere.get_by_role("radio", name="Task").check()
        elsewhere.get_by_label("Task", exact=True).last.fill("greet")
        elsewhere.get_by_label("Named arguments").fill('{"name": "Bob"}')
        elsewhere.get_by_role("textbox", name="When").fill("in 3 seconds")
        elsewhere.get_by_role("button", name="Schedule").click()
        page.evaluate("window.told.then(() => true)")
        elsewhere.locator("#runs .v-done").first.wait_for()
        expect(page.get_by_label("Your answer").first).to_have_value("I am still thinking")
        expect(page.get_by_label("Your answer").first).to_be_visible()


def test_one_of_several_meanings_is_pressed_and_a_time_is_moved_in_the_week(chromium: Browser, demo: Served) -> None:
    with looking(chromium, demo) as page:
        page.goto(f"{demo.url}/jobs/new")
        page.get_by_role("textbox", name="When").fill("tomorrow at 5")
        page.locator(".choice").last.click()
        expect(page.get_by_role("textbox", name="When")).to_have_value(re.compile("17:00"))
        expect(page.locator("#preview")).to_contain_text("17:00")
        expect(page.locator("#asked")).to_be_empty()
        page.get_by_label("Message").fill("Call mum")
        page.get_by_role("button", name="Schedule").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Call mum")
        page.goto(f"{demo.url}/week")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/week?from=*")
        chip = page.locator("details.slot", has_text="Nightly backup").first
        chip.locator("summary").click()
        chip.get_by_label("Move this one to").fill("not a time")
        chip.get_by_role("button", name="Move").click()
        expect(chip.locator(".field-wrong")).to_be_visible()
        chip.get_by_role("button", name="Skip this one").click()
        expect(page.get_by_role("status").first).to_contain_text("That one is skipped")
        expect(page.locator(".chip.gone").first).to_contain_text("Nightly backup")
        page.wait_for_load_state()  # so that its keys are there
        page.keyboard.press("t")
        page.wait_for_url("**/week#today")
        assert noticed(page) == []


def test_the_days_of_a_young_job_open_at_today_on_a_phone(chromium: Browser, demo: Served) -> None:
    with looking(chromium, demo, "phone") as page:
        for path in ("/jobs/5", "/jobs/2"):
            page.goto(demo.url + path)
            today, shown = (page.locator(one).bounding_box() for one in (".year .h-today", ".year-scroll"))
            assert today is not None
            assert shown is not None
            assert shown["x"] <= today["x"], path
            assert today["x"] + today["width"] <= shown["x"] + shown["width"] + 1, path
        page.goto(f"{demo.url}/jobs/5")
        wide = page.locator(".year-scroll").evaluate("box => box.scrollWidth - box.clientWidth")
        assert wide == 0, "a week of seven days fits"


@pytest.mark.npm
@pytest.mark.parametrize(
    "look", [pytest.param("light", marks=pytest.mark.long), pytest.param("dark", marks=pytest.mark.long), "phone"]
)
def test_pictures_of_every_page_that_everybody_can_read(
    chromium: Browser, demo: Served, pictures: Path, look: Look
) -> None:
    source = axe()
    found: dict[str, list[str]] = {}
    with looking(chromium, demo, look) as page:
        for name, path in [*PAGES.items(), ("run", _failed_run(page, demo))]:
            page.goto(demo.url + path)
            if name == "new":
                page.get_by_role("textbox", name="When").fill("every weekday at 8:30")
                expect(page.locator("#preview")).to_contain_text("At 08:30 on weekdays")
            if (shown := SHOWN.get((name, look))) is not None:
                page.screenshot(path=pictures / f"{shown}.png")
            page.screenshot(path=pictures / f"{name}-{look}.png", full_page=True)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            found[name] = [
                *noticed(page),
                *([f"{wide} pixels too wide"] if wide > 0 else []),
                *([] if look == "phone" else violations(page, source)),
            ]
    assert {name: flaws for name, flaws in found.items() if flaws} == {}


def _failed_run(page: Page, demo: Served) -> str:
    page.goto(f"{demo.url}/fleet")
    return page.locator(".failed-runs a.row-main").first.get_attribute("href") or ""


async def _hostile(url: str) -> None:
    """Jobs, tags, prompts, errors and results of a kind nobody should run."""
    sql = await asyncpg.connect(url)
    owner = await sql.fetchval("insert into cronty.owners (name) values ('local') returning id")
    for payload in PAYLOADS:
        arguments = orjson.dumps(
            {"args": [], "kwargs": {"prompt": payload, "agent": payload, "data": {payload: payload}}}
        )
        job = await sql.fetchval(
            """insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, zone,
              created_at, updated_at, last_error, failures_in_row)
            values ($1, cronty.take_numbers($1, 1), $2, 'prompt', $3::text::jsonb, '{"kind": "interval",
              "seconds": 86400, "anchor": "2027-01-01T00:00:00+00:00"}', '{}', array[$4::text], 'UTC', now(), now(),
              $2, 1)
            returning id""",
            owner, payload, arguments.decode(), payload[:50],
        )  # fmt: skip
        await sql.execute(
            """insert into cronty.due (job_id, owner_id, next_at, serial, period)
            values ($1, $2, now() + interval '1 hour', true, 86400000000)""",
            job, owner,
        )  # fmt: skip
        await sql.execute(
            """insert into cronty.runs
              (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at, reason, error, result)
            values ($1, now() - interval '1 hour', $2, 'failed', 1, now() - interval '1 hour', now(), $3, $3,
              jsonb_build_object($3::text, $3::text))""",
            job, owner, payload,
        )  # fmt: skip
        await sql.execute(
            """insert into cronty.runs (job_id, scheduled_for, owner_id, state) values ($1, now(), $2, 'waiting')""",
            job, owner,
        )  # fmt: skip
        await sql.execute(
            """insert into cronty.queue (job_id, scheduled_for, owner_id, task, due_at)
            select job_id, scheduled_for, owner_id, 'prompt', now() from cronty.runs
            where job_id = $1 and state = 'waiting'""",
            job,
        )  # fmt: skip
    await sql.close()


@pytest.mark.long
def test_nothing_that_somebody_wrote_runs(chromium: Browser, server_url: str, tmp_path: Path) -> None:
    seen: list[str] = []
    with furnished(server_url, tmp_path, "hostile", _hostile) as served, looking(chromium, served) as page:
        page.on("dialog", lambda dialog: seen.append(dialog.message))
        for path in ("/", "/week", "/jobs", "/inbox", "/fleet", "/settings", *(f"/jobs/{job}" for job in range(1, 51))):
            answer = page.goto(served.url + path, wait_until="domcontentloaded")
            assert answer is not None
            assert answer.status == 200, path
            seen += noticed(page)
            if path == "/jobs":
                page.get_by_role("link", name="Show more").click()
                expect(page.locator("li.job-row")).to_have_count(50)
            elif path.startswith("/jobs/"):
                number = int(path.rsplit("/", 1)[1])
                shown = page.locator("h1").inner_text()
                assert " ".join(shown.split()) == " ".join(PAYLOADS[number - 1].split())
            seen += noticed(page)
        run = page.locator("#runs a.row").last.get_attribute("href")
        page.goto(f"{served.url}{run}")
        seen += noticed(page)
    assert seen == []


async def _empty(_url: str) -> None:
    pass


def test_the_zone_of_the_first_browser_counts_and_is_changed_in_the_settings(
    chromium: Browser, server_url: str, tmp_path: Path
) -> None:
    with furnished(server_url, tmp_path, "zone", _empty) as served:
        with looking(chromium, served, zone="America/New_York") as page:
            expect(page.get_by_role("main")).to_contain_text("New York time")
            page.goto(f"{served.url}/settings")
            page.get_by_label("Your time zone").fill("Europe/Berlin")
            page.get_by_role("button", name="Save", exact=True).click()
            expect(page.get_by_role("status").first).to_contain_text("Your time zone is saved")
            assert noticed(page) == []
        with looking(chromium, served, zone="Asia/Tokyo") as page:
            page.goto(f"{served.url}/settings")
            expect(page.get_by_label("Your time zone")).to_have_value("Europe/Berlin")
            page.wait_for_function("localStorage.getItem('zone') === 'Asia/Tokyo'")
            page.reload()
            expect(page.get_by_label("Your time zone")).to_have_value("Europe/Berlin")
