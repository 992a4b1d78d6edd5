"""What the dashboard says: one thing in one way, and in plain words."""

import asyncpg

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.web.dashboard.pages import flat
from tests.conftest import HandClock, Hands
from tests.web.dashboard_fixtures import Browser, House, ann, house

__all__ = ["ann", "house"]


async def test_the_page_of_the_workers_says_the_same_in_its_figures_and_in_its_list(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    await hands.engine.lease.beat()
    await house.job("Ask", task="prompt", kwargs={"prompt": "?"})
    clock.advance(minutes=5, seconds=1)
    await hands.fire()
    assert isinstance(taken := await house.cronty.service.inbox.read(local_caller("ann")), Ok)
    assert taken.value, "an agent has it"
    await hands.engine.lease.beat()
    page = (await ann.get("/fleet")).text
    assert "Workers 1" in page
    assert "Running 0" in page, "what an agent does is not run by a worker"
    assert "gone" not in page.lower()
    assert "No worker is running" not in page
    clock.advance(hours=3)
    page = (await ann.get("/fleet")).text
    assert "Workers 0" in page
    assert "1 gone" in page
    assert "No worker is running" in page


async def test_a_busy_job_leaves_room_for_others_among_the_latest_runs(
    url: str, house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    for name in ("Tea", "Post"):
        await house.job(name, trigger_type="interval", trigger_config={"hours": 15})
    await house.job("Rounds", trigger_type="interval", trigger_config={"hours": 2})
    await house.job("Alarm", task="fail", trigger_type="interval", trigger_config={"hours": 3}, policy={"attempts": 1})
    for _ in range(16):
        clock.advance(hours=1, seconds=1)
        await hands.all()
    sql = await asyncpg.connect(url)
    await sql.execute("update cronty.runs set result = null")
    await sql.close()
    page = await ann.get("/")
    _, _, latest = page.text.partition("Latest runs")
    latest, _, _ = latest.partition("Next up")
    assert "and 6 more of Rounds" in latest
    assert "and 3 more of Alarm, 3 failed" in latest
    assert all(name in latest for name in ("Tea", "Post"))


async def test_a_zone_is_named_once(house: House, ann: Browser, hands: Hands) -> None:
    said = {"weekdays at 15:10 in Tokyo": "Asia/Tokyo", "weekdays at 9:55": "America/New_York"}
    for number, (when, zone) in enumerate(said.items(), 1):
        await house.job(f"Job {number}", trigger_type="words", trigger_config={"text": when}, timezone=zone)
    page = (await ann.get("/jobs")).text
    assert "weekdays at 15:10 in Tokyo" in page
    assert "Tokyo time" not in page
    assert "weekdays at 9:55, New York time" in page
    page = (await ann.get("/jobs/1")).text
    assert page.count("Tokyo time") == 1, "in how it was read"
    page = (await ann.get("/jobs/preview?when=weekdays+at+15:10&zone=Asia/Tokyo")).text
    assert page.count("Tokyo time") == 1


async def test_the_next_times_say_nothing_of_utc_to_who_lives_elsewhere(
    house: House, ann: Browser, hands: Hands
) -> None:
    await house.job(
        "Rent", trigger_type="words", trigger_config={"text": "0 10 1 1,4,7,10 *"}, timezone="Europe/Berlin"
    )
    assert "in UTC than the one before" in (await ann.get("/jobs/1")).text
    await ann.post("/settings/zone", zone="Europe/Berlin")
    assert "UTC" not in (await ann.get("/jobs/1")).text


def test_a_result_with_a_note_is_told_by_it() -> None:
    assert flat('{"note": "not sent again: it was done or snoozed", "channel": "phone"}').startswith("not sent again")
    assert not flat('{"note": "delivered", "channel": "phone"}').count("phone")
    assert flat('{"status": "ok", "seconds": 0.8}') == "status ok, seconds 0.8"
