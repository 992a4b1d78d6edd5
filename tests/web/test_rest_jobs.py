"""Jobs over REST: made, looked at, changed, held, ended, run."""

from typing import Any

import asyncpg
import orjson
import pytest

from tests.conftest import HandClock, Hands
from tests.web.conftest import Api, Keyed

DAILY = {"name": "backup", "task": "run_backup", "trigger_type": "cron", "trigger_config": {"expression": "0 9 * * *"}}


async def test_a_job_is_made_with_its_rule_in_words_and_its_place(ann: Api) -> None:
    made = await ann.post("/jobs", json={**DAILY, "timezone": "Europe/Berlin", "tags": ["nightly"]})
    assert made.status_code == 201
    told = made.json()
    assert told["schedule"] == "At 09:00 every day, Berlin time"
    assert told["next_runs"][0]["utc"] == "2027-03-02T08:00:00+00:00"
    assert made.headers["etag"] == '"1"'
    assert made.headers["location"] == f"/api/v1/jobs/{told['job_id']}"
    shown = await ann.http.get(made.headers["location"])
    assert shown.json()["tags"] == ["nightly"]
    assert shown.json()["task"] == "run_backup"


async def test_a_repeated_idempotency_key_answers_with_the_first_job(ann: Api, bob: Api) -> None:
    first, again = [await ann.post("/jobs", json=DAILY, headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert (await ann.get("/jobs")).json()["total"] == 1
    theirs = await bob.post("/jobs", json=DAILY, headers={"Idempotency-Key": "k1"})
    assert (theirs.status_code, (await bob.get("/jobs")).json()["total"]) == (201, 1), "and theirs is another"
    assert (await ann.get("/jobs")).json()["total"] == 1
    wrong = await ann.post("/jobs", json=DAILY, headers={"Idempotency-Key": "k" * 201})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_key")


async def test_a_change_is_refused_if_the_job_has_changed_since(ann: Api) -> None:
    job = await ann.make()
    path = f"/jobs/{job['job_id']}"
    shown = await ann.get(path)
    changed = await ann.ask("PATCH", path, json={"name": "other"}, headers={"If-Match": shown.headers["etag"]})
    assert (changed.status_code, changed.headers["etag"], changed.json()["version"]) == (200, '"2"', 2)
    for stale in (shown.headers["etag"], '"1"', "1", 'W/"2"', '"nonsense"', '"1", "7"'):
        refused = await ann.ask("PATCH", path, json={"name": "mine"}, headers={"If-Match": stale})
        assert (refused.status_code, refused.json()["code"]) == (412, "version_conflict"), stale
        assert "version 2" in refused.json()["detail"]
    assert (await ann.get(path)).json()["name"] == "other"
    for good in ('"2"', "*", '"1", "4"'):
        assert (await ann.ask("PATCH", path, json={"name": good}, headers={"If-Match": good})).is_success, good


async def test_an_unchanged_job_is_not_sent_again_and_a_new_run_changes_it(
    ann: Api, worker: Hands, clock: HandClock
) -> None:
    path = f"/jobs/{(await ann.make())['job_id']}"
    tag = (await ann.get(path)).headers["etag"]
    for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        same = await ann.get(path, headers={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag), known
    clock.advance(hours=1)
    await worker.all()
    other = await ann.get(path, headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert other.json()["runs"][0]["verdict"] == "done"
    assert other.json()["version"] == 1, "a run is no change of the job"
    kept = await ann.ask("PATCH", path, json={"name": "x"}, headers={"If-Match": tag})
    assert kept.status_code == 200, "so a change made with the older look still fits"


async def test_a_change_keeps_what_it_does_not_name(ann: Api, sql: asyncpg.Connection) -> None:
    job = await ann.make(kwargs={"path": "/a", "compress": True}, tags=["x"], policy={"attempts": 3})
    changed = await ann.ask("PATCH", f"/jobs/{job['job_id']}", json={"args": ["/b"], "kwargs": {"compress": False}})
    assert changed.status_code == 200
    row = await sql.fetchrow("select arguments::text, policy::text, tags from cronty.jobs")
    assert row is not None
    assert orjson.loads(row[0]) == {"args": ["/b"], "kwargs": {"compress": False}}
    assert orjson.loads(row[1]) == {"attempts": 3}
    assert row[2] == ["x"]
    nothing = await ann.ask("PATCH", f"/jobs/{job['job_id']}", json={})
    assert (nothing.status_code, nothing.json()["code"]) == (422, "bad_change")


async def test_jobs_are_listed_by_page_and_by_what_is_wanted(ann: Api) -> None:
    for number in range(5):
        await ann.make(name=f"job {number}", tags=["even"] if number % 2 == 0 else [])
    await ann.make(
        name="call", task="notify", kwargs={"message": "x", "topic": "phone"},
        trigger_type="once", trigger_config={"run_at": "2027-06-01T09:00:00Z"},
    )  # fmt: skip
    seen: list[str] = []
    cursor = None
    while True:
        page = (await ann.get("/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        assert page["total"] == 6
        seen += [job["name"] for job in page["jobs"]]
        if (cursor := page["cursor"]) is None:
            break
    assert sorted(seen) == ["call", *(f"job {number}" for number in range(5))]

    async def names(**wanted: str) -> list[str]:
        return sorted(job["name"] for job in (await ann.get("/jobs", params=wanted)).json()["jobs"])

    assert await names(tag="even") == ["job 0", "job 2", "job 4"]
    assert await names(name="b 3") == ["job 3"]
    assert await names(task="notify") == await names(topic="phone") == await names(**{"from": "2027-05-01"}) == ["call"]
    assert await names(to="2027-05-01", status="pending") == [f"job {number}" for number in range(5)]
    assert await names(status="failed") == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("status=odd", "unknown_status"),
        ("limit=0", "bad_limit"),
        ("cursor=odd", "bad_cursor"),
        ("from=odd", "bad_time"),
    ],
)
async def test_a_list_that_cannot_be_made_says_why(ann: Api, query: str, code: str) -> None:
    refused = await ann.get(f"/jobs?{query}")
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert refused.json()["hint"]


async def test_a_job_is_held_let_go_ended_and_hidden(ann: Api) -> None:
    path = f"/jobs/{(await ann.make())['job_id']}"
    for _ in range(2):
        assert (await ann.post(f"{path}/pause")).json()["paused"] is True
    assert (await ann.post(f"{path}/resume")).json()["paused"] is False
    for _ in range(2):
        assert (await ann.post(f"{path}/cancel")).json()["status"] == "cancelled"
    refused = await ann.post(f"{path}/pause")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_editable")
    gone = await ann.ask("DELETE", path)
    assert (gone.status_code, gone.content) == (204, b"")
    for answer in (await ann.get(path), await ann.ask("DELETE", path)):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_job_is_run_now_and_its_run_can_be_looked_at(ann: Api, worker: Hands) -> None:
    job = await ann.make(policy={"overlap": "skip"})
    started = await ann.post("/jobs/1/run")
    assert (started.status_code, started.json()["job_id"]) == (202, job["job_id"])
    twice = await ann.post(f"/jobs/{job['job_id']}/run")
    assert (twice.status_code, twice.json()["code"]) == (409, "already_running")
    await worker.all()
    run = (await ann.get(f"/runs/{started.json()['run_id']}")).json()
    assert (run["verdict"], run["manual"], run["result"], run["attempts"]) == ("done", True, "/data False", [])
    assert (run["job_id"], run["name"]) == (job["job_id"], "backup")


async def test_a_job_stands_on_the_key_it_came_with(keyed: Keyed, ann: Api, sql: asyncpg.Connection) -> None:
    other = await keyed("ann", agent="claude")
    job = await ann.make(task="prompt", kwargs={"prompt": "look"})
    standing = "select k.number, j.origin::text from cronty.jobs j join cronty.api_keys k on k.id = j.key_id"
    row = await sql.fetchrow(standing)
    assert row is not None
    origin = {"surface": "rest", "client": {"name": "tests/1"}, "key": "ann's key"}
    assert (row[0], orjson.loads(row[1])) == (ann.key_number, origin)
    await other.ask("PATCH", f"/jobs/{job['job_id']}", json={"name": "theirs"})
    assert await sql.fetchval(standing) == other.key_number


async def test_what_an_agents_key_makes_is_held_to_the_limits_of_agents(keyed: Keyed, ann: Api) -> None:
    often: dict[str, Any] = {"task": "prompt", "kwargs": {"prompt": "look"}, "trigger_config": {"seconds": 30}}
    await ann.make(**often)
    agents = await keyed("ann", agent="claude")
    body = {"name": "often", "trigger_type": "interval", **often}
    refused = await agents.post("/jobs", json=body)
    assert (refused.status_code, refused.json()["code"]) == (429, "over_limit")


async def test_a_deleted_job_is_listed_and_comes_back(ann: Api, bob: Api) -> None:
    job = await ann.make()
    assert (await ann.ask("DELETE", f"/jobs/{job['job_id']}")).status_code == 204
    [deleted] = (await ann.get("/jobs/deleted")).json()["jobs"]
    assert (deleted["job_id"], deleted["deleted_at"] < deleted["until"]) == (job["job_id"], True)
    assert (await bob.get("/jobs/deleted")).json() == {"jobs": [], "cursor": None, "timezone": "UTC"}
    assert (await bob.post(f"/jobs/{job['job_id']}/undelete")).status_code == 404
    back = await ann.post(f"/jobs/{job['job_id']}/undelete")
    assert (back.status_code, back.json()["next_run"]) == (200, job["next_run"])
    assert (await ann.get("/jobs")).json()["total"] == 1
