"""Everything else over REST: runs, time, inbox, channels, notifications, keys, limits, the trail."""

import json
from typing import Any

import orjson

from cronty import Cronty
from cronty.contract.caller import local_caller
from tests.actions.servers import Plain, answer
from tests.conftest import HandClock, Hands
from tests.web.conftest import Api, Keyed


async def test_runs_are_paged_with_their_verdicts(ann: Api, worker: Hands, clock: HandClock) -> None:
    job = await ann.make(trigger_config={"minutes": 1})
    for _ in range(3):
        clock.advance(minutes=1)
        await worker.all()
    path, seen = f"/jobs/{job['job_id']}/runs", list[str]()
    cursor = None
    while True:
        page = (await ann.get(path, params={"limit": 2} | ({"before": cursor} if cursor else {}))).json()
        seen += [run["scheduled_for"] for run in page["runs"]]
        if (cursor := page["cursor"]) is None:
            break
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 3
    assert (await ann.get(path, params={"verdict": "failed"})).json()["runs"] == []
    for query, code in (("verdict=odd", "unknown_state"), ("before=odd", "bad_cursor"), ("limit=0", "bad_limit")):
        refused = await ann.get(f"{path}?{query}")
        assert (refused.status_code, refused.json()["code"]) == (422, code)


async def test_what_failed_is_listed_shown_and_tried_again(ann: Api, bob: Api, worker: Hands, clock: HandClock) -> None:
    await ann.make(name="fails", task="fail", trigger_config={"minutes": 1}, policy={"attempts": 1})
    clock.advance(minutes=1)
    await worker.all()
    [run] = (await ann.get("/runs/failed")).json()["runs"]
    assert (run["name"], run["verdict"], run["error"]) == ("fails", "failed", "ValueError: no luck")
    assert (await bob.get("/runs/failed")).json() == {"runs": [], "cursor": None, "timezone": "UTC"}
    assert (await bob.post("/runs/redrive", json={"run_ids": [run["run_id"]]})).json()["refused"] == [run["run_id"]]
    again = await ann.post("/runs/redrive", json={"run_ids": [run["run_id"], "run_9_9"]})
    hint = again.json().pop("hint")
    assert again.json() == {"redriven": [run["run_id"]], "refused": ["run_9_9"], "hint": hint}
    await worker.all()
    shown = (await ann.get(f"/runs/{run['run_id']}")).json()
    assert shown["attempt"] == 2
    assert [one["outcome"] for one in shown["attempts"]] == ["failed"]
    none = await ann.post("/runs/redrive", json={"run_ids": []})
    assert (none.status_code, none.json()["code"]) == (422, "bad_runs")


async def test_a_rule_is_shown_before_a_job_is_made_of_it(ann: Api) -> None:
    rule = {"schedule": "every day at 02:30", "timezone": "Europe/Berlin", "count": 30}
    shown = (await ann.post("/preview", json=rule)).json()
    assert shown["schedule"] == "At 02:30 every day, Berlin time"
    assert len(shown["slots"]) == 30
    assert any("note" in slot for slot in shown["slots"]), "clocks change on 28 March"
    wrong = await ann.post("/preview", json={"schedule": "61 * * * *"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_trigger")
    assert "61 * * * *" in wrong.json()["detail"]


async def test_the_clock_and_the_tasks(ann: Api) -> None:
    there = (await ann.get("/clock", params={"timezone": "Europe/Berlin"})).json()
    assert (there["datetime"], there["timezone"]) == ("2027-03-01T09:00:00+01:00", "Europe/Berlin")
    wrong = await ann.get("/clock", params={"timezone": "Europe/Berln"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_timezone")
    assert "Europe/Berlin" in wrong.json()["hint"] + wrong.json()["detail"]
    assert "run_backup" in [task["name"] for task in (await ann.get("/tasks")).json()["tasks"]]


async def test_a_prompt_is_read_and_settled(ann: Api, bob: Api, worker: Hands, clock: HandClock) -> None:
    await ann.make(name="look", task="prompt", kwargs={"prompt": "Look.", "agent": "claude"})
    clock.advance(hours=1)
    await worker.all()
    assert (await bob.post("/inbox/read", json={})).json() == {"items": [], "count": 0}
    [item] = (await ann.post("/inbox/read", json={"agent": "claude"})).json()["items"]
    assert (item["prompt"], item["provenance"]["surface"]) == ("Look.", "rest")
    later = {"receipts": [item["receipt"]], "outcome": "snooze"}
    refused = await ann.post("/inbox/acknowledge", json=later)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_snooze")
    settled = await ann.post("/inbox/acknowledge", json={"receipts": [item["receipt"], "odd"], "report": "Seen."})
    assert (settled.json()["acknowledged"], settled.json()["refused"]) == ([item["receipt"]], ["odd"])
    shown = (await ann.get(f"/runs/{item['run_id']}")).json()
    assert (shown["verdict"], shown["result"]) == ("done", {"report": "Seen."})


async def test_a_notification_is_sent_at_once(ann: Api, phone: Plain, cronty: Cronty) -> None:
    sent = await ann.post("/notifications", json={"message": "Green", "topic": "ann-phone", "priority": 4})
    assert (sent.status_code, sent.json()) == (200, {"topic": "ann-phone", "id": "abc"})
    assert orjson.loads(phone.received[0].body) == {"topic": "ann-phone", "message": "Green", "priority": 4}
    for topic in ("Ann Phone", "", "a\0", "a\ud800"):
        body = orjson.dumps({"message": "Green", "topic": "?"}).replace(b'"?"', json.dumps(topic).encode())
        wrong = await ann.post("/notifications", content=body, headers={"content-type": "application/json"})
        code = "bad_request" if topic == "a\ud800" else "not_sent"
        assert (wrong.status_code, wrong.json()["code"]) == (422, code), topic
    phone.answers = [answer(503)]
    away = await ann.post("/notifications", json={"message": "Green", "topic": "ann-phone"})
    assert (away.status_code, away.json()["code"]) == (422, "not_sent")
    await cronty.service.scheduler.allowance.set(local_caller("ann"), {"pushes_per_day": 1})
    over = await ann.post("/notifications", json={"message": "Green", "topic": "ann-phone"})
    assert (over.status_code, over.json()["code"]) == (429, "over_limit")


async def test_a_channel_is_tried_out(ann: Api, phone: Plain) -> None:
    await ann.ask("PUT", "/channels/phone", json={"url": f"ntfy://{phone.allowed}/ann-secret"})
    tried = await ann.post("/channels/phone/test")
    assert (tried.status_code, tried.json()["topic"]) == (200, "phone")
    phone.answers = [answer(403)]
    failed = await ann.post("/channels/phone/test")
    assert (failed.status_code, failed.json()["code"]) == (422, "not_sent")
    assert "ann-secret" not in failed.text


async def test_a_channel_is_saved_listed_and_removed_and_never_shown(ann: Api, bob: Api, phone: Plain) -> None:
    secret = f"ntfy://tk_hunter2@{phone.allowed}/ann-very-secret"
    saved = await ann.ask("PUT", "/channels/phone", json={"url": secret})
    assert saved.status_code == 200, saved.text
    listed = await ann.get("/channels")
    for told in (saved, listed):
        assert "hunter2" not in told.text
        assert "very-secret" not in told.text
    [channel] = listed.json()["channels"]
    assert (channel["name"], channel["scheme"]) == ("phone", "ntfy")
    assert (await bob.get("/channels")).json() == {"channels": []}
    assert (await ann.ask("DELETE", "/channels/phone")).status_code == 204
    for method, name in (("DELETE", "phone"), ("POST", "nowhere/test"), ("DELETE", "%00"), ("POST", "%00/test")):
        gone = await ann.ask(method, f"/channels/{name}")
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found"), name
    for name, url in (("phone", "gopher://x"), ("Phone", secret)):
        wrong = await ann.ask("PUT", f"/channels/{name}", json={"url": url})
        assert wrong.status_code == 422
        assert "hunter2" not in wrong.text
    odd = await ann.ask("PUT", "/channels/phone", json={"url": 4711})
    assert (odd.status_code, "4711" in odd.text) == (422, False)


async def test_keys_are_made_shown_once_and_revoked(ann: Api, bob: Api, keyed: Keyed) -> None:
    made = await ann.post("/keys", json={"name": "laptop", "scopes": ["read"], "expires_at": "in 30 days"})
    assert made.status_code == 201
    key = made.json()
    as_laptop = {"authorization": f"Bearer {key['key']}"}
    assert (await ann.get("/me", headers=as_laptop)).json()["scopes"] == ["read"]
    listed = await ann.get("/keys")
    assert key["key"] not in listed.text
    assert {one["id"]: one["expires_at"] for one in listed.json()["keys"]}[key["id"]] == "2027-03-31T08:00:00+00:00"
    assert (await bob.ask("DELETE", f"/keys/{key['id']}")).status_code == 404
    assert (await ann.ask("DELETE", f"/keys/{key['id']}")).status_code == 204
    assert (await ann.get("/me", headers=as_laptop)).status_code == 401
    for odd in (key["id"], 10**30, "x", "٣", "-1"):
        gone = await ann.ask("DELETE", f"/keys/{odd}")
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "x", "scopes": ["fly"]}, "bad_scope"),
        ({"name": "x", "scopes": []}, "bad_scope"),
        ({"name": " "}, "bad_name"),
        ({"name": "x", "expires_at": "yesterday at 9:00"}, "bad_time"),
        ({"name": "x", "agent": "\0"}, "bad_agent"),
    ]
    for body, code in wrong:
        refused = await ann.post("/keys", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, code), body


async def test_a_key_cannot_make_one_that_may_do_more(keyed: Keyed) -> None:
    narrow = await keyed("ann", "admin", "read", agent="claude")
    refused = await narrow.post("/keys", json={"name": "x", "scopes": ["read", "run"], "agent": "claude"})
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    assert "run" in refused.json()["detail"]
    other = await narrow.post("/keys", json={"name": "x", "scopes": ["read"]})
    assert (other.status_code, other.json()["code"]) == (422, "bad_agent")
    same = await narrow.post("/keys", json={"name": "x", "scopes": ["read"], "agent": "claude"})
    assert same.status_code == 201


async def test_limits_say_what_is_used(ann: Api) -> None:
    await ann.make()
    standing = (await ann.get("/limits")).json()
    assert standing["limits"]["jobs"] == 10_000
    assert standing["used"]["jobs"] == 1


async def test_the_trail_tells_who_did_what_through_which_operation(ann: Api, bob: Api) -> None:
    job = await ann.make()
    await ann.post(f"/jobs/{job['job_id']}/pause")
    trail: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = (await ann.get("/trail", params={"limit": 1} | ({"before": cursor} if cursor else {}))).json()
        trail += page["entries"]
        if (cursor := page["cursor"]) is None:
            break
    assert [entry["what"] for entry in trail][:2] == ["paused", "created"]
    assert trail[0]["actor"] == {"owner": "ann", "key_id": ann.key_number}
    assert trail[0]["client"] == {"surface": "rest", "operation": "pause_job", "client": {"name": "tests/1"}}
    assert trail[0]["after"]["state"] == "paused"
    theirs = (await bob.get("/trail")).json()["entries"]
    assert {entry["actor"]["owner"] for entry in theirs} <= {"bob"}
