"""The agenda as a calendar to subscribe to: by a key in its URL that is good for nothing else."""

from datetime import UTC, datetime

from asyncpg import Connection

from tests.timing.test_ics_out import events_in
from tests.web.conftest import Api, Keyed

DAILY = {"trigger_type": "cron", "trigger_config": {"expression": "0 9 * * *"}, "timezone": "Europe/Berlin"}


async def test_a_calendar_is_read_by_its_url_alone(ann: Api, bob: Api, keyed: Keyed) -> None:
    await ann.make(name="Stand-up", kwargs={"path": "a secret"}, **DAILY)
    await ann.make(name="Paused", **DAILY)
    await ann.post("/jobs/2/pause")
    await bob.make(name="Bob's", **DAILY)
    feed: Api = await keyed("ann", "agenda")
    feed.http.headers.pop("authorization")
    found = await feed.get(f"/agenda/{feed.key}.ics")
    assert found.status_code == 200
    assert found.headers["content-type"] == "text/calendar; charset=utf-8"
    [event] = events_in(found.text)
    assert str(event["SUMMARY"]) == "Stand-up"
    assert str(event["DESCRIPTION"]) == "At 09:00 every day, Berlin time"
    assert event["DTSTART"].dt.astimezone(UTC) == datetime(2027, 3, 2, 8, tzinfo=UTC)
    assert "secret" not in found.text


async def test_a_run_that_is_skipped_is_not_in_it(ann: Api, keyed: Keyed) -> None:
    await ann.make(**DAILY)
    await ann.post("/jobs/1/slot", json={"slot": "2027-03-03T08:00:00Z"})
    await ann.post("/jobs/1/slot", json={"slot": "2027-03-04T08:00:00Z", "to": "2027-03-04T10:00:00Z"})
    feed: Api = await keyed("ann", "agenda")
    text = (await feed.get(f"/agenda/{feed.key}.ics")).text
    assert "EXDATE;TZID=Europe/Berlin:20270303T090000" in text
    assert "DTSTART:20270304T100000Z" in text


async def test_the_key_of_a_calendar_opens_nothing_else(ann: Api, keyed: Keyed) -> None:
    await ann.make()
    feed: Api = await keyed("ann", "agenda")
    for path in ("/jobs", "/jobs/1", "/trail", "/keys", "/calendars"):
        assert (await feed.get(path)).status_code == 403
    assert (await feed.post("/jobs/1/pause")).status_code == 403


async def test_a_key_that_may_do_more_is_not_taken_from_a_url(ann: Api, keyed: Keyed) -> None:
    both: Api = await keyed("ann", "agenda", "read")
    other: Api = await keyed("ann", "read")
    for api in (ann, both, other):
        refused = await api.get(f"/agenda/{api.key}.ics")
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


async def test_a_url_ends_with_its_key(ann: Api, keyed: Keyed) -> None:
    feed: Api = await keyed("ann", "agenda")
    assert (await feed.get(f"/agenda/{feed.key}.ics")).status_code == 200
    await ann.ask("DELETE", f"/keys/{feed.key_number}")
    for key in (feed.key, "cronty_1_" + "x" * 43, "nothing"):
        refused = await feed.get(f"/agenda/{key}.ics")
        assert (refused.status_code, refused.json()["code"]) == (401, "bad_token")


async def test_a_signed_token_is_not_taken_from_a_url(ann: Api) -> None:
    refused = await ann.get("/agenda/eyJhbGciOiJIUzUxMiJ9.e30.c2lnbmF0dXJl.ics")
    assert refused.status_code == 401


async def test_ids_of_events_stay_and_do_not_count_the_jobs_of_others(
    ann: Api, bob: Api, keyed: Keyed, sql: Connection
) -> None:
    await bob.make(**DAILY)
    await ann.make(**DAILY)
    await ann.make(**DAILY)
    feed: Api = await keyed("ann", "agenda")
    first = events_in((await feed.get(f"/agenda/{feed.key}.ics")).text)
    assert len({str(event["UID"]) for event in first}) == 2
    for job_id in await sql.fetch("select id from cronty.jobs"):
        assert not any(str(job_id["id"]) in str(event["UID"]) for event in first)
    await ann.ask("PATCH", "/jobs/1", json={"name": "another"})
    again = events_in((await feed.get(f"/agenda/{feed.key}.ics")).text)
    assert {str(event["UID"]) for event in again} == {str(event["UID"]) for event in first}
