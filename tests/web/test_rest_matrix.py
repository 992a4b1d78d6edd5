"""Somebody else's id and one that doesn't exist: every route answers both with the same bytes.

Owners count their jobs and keys for themselves, so Ann and Bob have the same numbers here; Bob has some more, which
name nothing of Ann's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

import asyncpg
import pytest

from cronty.jobs.ids import job_id_text, schedule_id_text
from cronty.jobs.run import receipt, run_id
from cronty.web.rest.openapi import openapi_document
from tests.conftest import START, HandClock, Hands
from tests.web.conftest import Api

type Form = Callable[[int], str]

SLOT: Final = START + timedelta(minutes=1)
MISSING: Final = 7_654_321
FIRST: Final = 4_000_001
"""Numbers that no answer holds for another reason."""

JOBS: Final[dict[str, Form]] = {
    "job_": lambda number: job_id_text(number, START),
    "scd_": schedule_id_text,
    "number": str,
    "#number": lambda number: f"#{number}",
}
RUNS: Final[dict[str, Form]] = {
    "run": lambda number: run_id(number, SLOT),
    "a receipt": lambda number: receipt(number, SLOT, 1),
    "another slot": lambda number: run_id(number, SLOT + timedelta(seconds=1)),
}
KEYS: Final[dict[str, Form]] = {"number": str}
CHANNELS: Final[dict[str, Form]] = {"name": lambda number: f"phone-{number}"}


@dataclass(frozen=True, slots=True)
class Way:
    """How a route is asked about an id: in its path, or in the body's list `many`, and what else is said with it."""

    forms: Mapping[str, Form]
    bodies: tuple[Mapping[str, Any] | None, ...] = (None,)
    queries: tuple[str, ...] = ("",)
    headers: tuple[Mapping[str, str], ...] = field(default=({},))
    many: str | None = None


FORMS: Final[dict[str, Mapping[str, Form]]] = {"job_id": JOBS, "run_id": RUNS, "key_id": KEYS, "name": CHANNELS}
"""By what stands in the path."""

SPECIAL: Final[dict[str, Way]] = {
    "GET /jobs/{job_id}": Way(JOBS, headers=({}, {"if-none-match": "*"}, {"if-none-match": '"1"'})),
    "PATCH /jobs/{job_id}": Way(
        JOBS,
        (
            {"name": "mine"},
            {"trigger_type": "words", "trigger_config": {"text": "every day at 9:00"}},
            {"trigger_type": "words", "trigger_config": {"text": "every blue moon"}},
            {"task": "nonsense"},
            {"task": "notify", "kwargs": {"message": "", "topic": "No"}},
            {},
            {"nmae": "mine"},
        ),
        headers=({}, {"if-match": '"1"'}, {"if-match": '"99"'}, {"if-match": "*"}),
    ),
    "GET /jobs/{job_id}/runs": Way(JOBS, queries=("", "?limit=1", "?limit=0", "?verdict=odd", "?before=odd")),
    "POST /jobs/{job_id}/backfill": Way(
        JOBS,
        (
            {"from": "2027-02-28", "to": "2027-03-01"},
            {"from": "2027-02-28", "to": "2027-03-01", "dry_run": False},
            {"from": "2027-03-01", "to": "2027-02-28"},
            {"from": "2027-02-28", "to": "2027-03-01", "again": True},
            {"from": "one day", "to": "2027-03-01"},
            {},
        ),
    ),
    "POST /runs/redrive": Way(RUNS, ({},), many="run_ids"),
    "POST /inbox/acknowledge": Way(
        RUNS,
        ({}, {"outcome": "quiet"}, {"outcome": "failed", "report": "no"}, {"outcome": "snooze", "snooze_for": "1h"},
         {"outcome": "snooze"}),
        many="receipts",
    ),
}  # fmt: skip
"""Routes that are asked about an id in more ways than by their path."""

NO_IDS: Final = {
    "GET /jobs", "POST /jobs", "GET /jobs/deleted", "GET /runs/failed", "GET /events", "POST /preview", "GET /clock",
    "GET /tasks", "POST /inbox/read", "GET /channels", "POST /notifications", "GET /me", "GET /limits", "GET /keys",
    "POST /keys", "GET /trail", "GET /owners", "GET /calendars", "PUT /zone",
}  # fmt: skip
OWN_NAMES: Final = {"PUT /channels/{name}", "PUT /calendars/{name}"}
"""A name of one's own, which is made here and can be nobody else's."""


def routes() -> set[str]:
    paths = openapi_document()["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def ways() -> dict[str, Way]:
    """How every route that takes an id is asked about one."""
    found = {route: name[1] for route in routes() if (name := re.search(r"{(\w+)}", route)) and route not in OWN_NAMES}
    return {route: Way(FORMS[name]) for route, name in sorted(found.items())} | SPECIAL


MATRIX: Final = ways()


def test_every_route_is_in_the_matrix_or_takes_no_id() -> None:
    assert routes() == MATRIX.keys() | NO_IDS | OWN_NAMES
    assert not [route for route in NO_IDS if "{" in route]


@pytest.fixture
async def world(
    ann: Api, bob: Api, worker: Hands, clock: HandClock, sql: asyncpg.Connection, phone: Any
) -> dict[str, dict[str, list[int]]]:
    """Each a prompt in the inbox, a failed run, a job to come, one paused, a key, a channel, a list; Bob most twice."""
    await sql.execute("update cronty.owners set next_number = $1", FIRST)
    await sql.execute("update cronty.api_keys set number = $1", FIRST + 500)
    made: dict[str, dict[str, list[int]]] = {}
    every = {"minutes": 1}
    for number, (owner, api) in enumerate((("ann", ann), ("bob", bob))):
        jobs: list[dict[str, Any]] = []
        for _ in range(1 + number):
            jobs += [
                await api.make(name="thinks", task="prompt", kwargs={"prompt": f"of {owner}"}, trigger_config=every),
                await api.make(name="fails", task="fail", trigger_config=every, policy={"attempts": 1}),
                await api.make(name="waits"),
                await api.make(name="rests", trigger_config=every),
            ]
            await api.post(f"/jobs/{jobs[-1]['job_id']}/pause")
        keys = [(await api.post("/keys", json={"name": f"of {owner}"})).json()["id"] for _ in range(1 + number)]
        channel = FIRST + 900 + number
        url = f"ntfy://{phone.allowed}/of-{owner}"
        assert (await api.ask("PUT", f"/channels/phone-{channel}", json={"url": url})).status_code == 200
        days = {"days": {"2027-12-25": f"of {owner}"}}
        assert (await api.ask("PUT", f"/calendars/phone-{channel}", json=days)).status_code == 200
        numbers = [int(job["job_id"].split("_")[1]) for job in jobs]
        made[owner] = {"jobs": numbers, "keys": keys, "channels": [channel]}
    clock.advance(seconds=61)
    await worker.all()
    return made


def test_ann_and_bob_have_the_same_numbers(world: dict[str, dict[str, list[int]]]) -> None:
    for kind in ("jobs", "keys"):
        hers, his = world["ann"][kind], world["bob"][kind]
        assert his[: len(hers)] == hers
        assert len(his) == 2 * len(hers)


def theirs(world: dict[str, dict[str, list[int]]], owner: str, way: Way) -> list[int]:
    kind = "keys" if way.forms is KEYS else "channels" if way.forms is CHANNELS else "jobs"
    return world[owner][kind]


async def state_of(sql: asyncpg.Connection, owner: str | None = None) -> str:
    """Everything there is, of one owner or of all."""
    tables = ("jobs", "due", "runs", "queue", "attempts", "stop_requests", "channels", "calendars")
    whose = "t.owner_id in (select id from cronty.owners where name = coalesce($1, name))"
    rows = [
        await sql.fetch(f"select t::text from cronty.{table} t where {whose} order by 1", owner) for table in tables
    ]
    keys = await sql.fetch(f"select id, revoked_at from cronty.api_keys t where {whose} order by 1", owner)
    return str([row[0] for found in rows for row in found] + [tuple(key) for key in keys])


async def ask(api: Api, route: str, way: Way, form: Form, number: int, said: tuple[Any, str, Any]) -> str:
    """The whole answer without the id that was asked for."""
    method, path = route.split(" ")
    body, query, headers = said
    given = form(number)
    if way.many is not None:
        body = {**body, way.many: [given]}
    place = re.sub(r"\{\w+\}", quote(given, safe=""), path) + query
    answer = await api.ask(method, place, json=body, headers=headers)
    told = {name: value for name, value in answer.headers.items() if name != "content-length"}
    text = f"{answer.status_code} {told} {answer.text}"
    for form_of_it in (given, schedule_id_text(number), str(number)):
        text = text.replace(form_of_it, "<id>")
    return text


async def test_a_foreign_id_is_answered_like_a_missing_one(
    ann: Api, world: dict[str, dict[str, list[int]]], sql: asyncpg.Connection
) -> None:
    before = await state_of(sql)
    for route, way in MATRIX.items():
        asked = 0
        for name, form in way.forms.items():
            for said in [(b, q, h) for b in way.bodies for q in way.queries for h in way.headers]:
                missing = await ask(ann, route, way, form, MISSING, said)
                for foreign in set(theirs(world, "bob", way)) - set(theirs(world, "ann", way)):
                    assert await ask(ann, route, way, form, foreign, said) == missing, f"{route}, {name}, {said}"
                    asked += 1
        assert asked >= 1, route
        assert await state_of(sql) == before, f"{route}: and nothing has changed"


@pytest.mark.parametrize("route", MATRIX)
async def test_ones_own_id_is_answered_otherwise(route: str, ann: Api, world: dict[str, dict[str, list[int]]]) -> None:
    """Or the matrix would hold for a server that answers nothing."""
    way = MATRIX[route]
    if way.many == "receipts":
        await ann.post("/inbox/read", json={})
    said: tuple[Any, str, Any] = (way.bodies[0], "", {})
    form = next(iter(way.forms.values()))
    missing = await ask(ann, route, way, form, MISSING, said)
    own = [await ask(ann, route, way, form, number, said) for number in theirs(world, "ann", way)]
    assert any(answer != missing for answer in own)


@pytest.mark.parametrize("route", MATRIX)
async def test_a_number_that_both_have_names_ones_own(
    route: str, ann: Api, world: dict[str, dict[str, list[int]]], sql: asyncpg.Connection
) -> None:
    """Whatever Ann does to it, nothing of Bob's is changed or shown."""
    way, before = MATRIX[route], await state_of(sql, "bob")
    if way.many == "receipts":
        await ann.post("/inbox/read", json={})
    for form in way.forms.values():
        for said in [(b, q, h) for b in way.bodies for q in way.queries for h in way.headers]:
            for number in theirs(world, "ann", way):
                assert "bob" not in await ask(ann, route, way, form, number, said)
    assert await state_of(sql, "bob") == before


async def test_lists_hold_nothing_of_anybody_elses(ann: Api, bob: Api, world: dict[str, dict[str, list[int]]]) -> None:
    cursor = (await bob.get("/jobs?limit=1")).json()["cursor"]
    for path in ("/jobs", f"/jobs?cursor={cursor}", "/runs/failed", "/channels", "/keys", "/trail", "/limits", "/me"):
        text = (await ann.get(path)).text
        assert "bob" not in text, path
        numbers = [number for kind in world["bob"] for number in {*world["bob"][kind]} - {*world["ann"][kind]}]
        assert not [number for number in numbers if str(number) in text], path
    assert "of bob" not in (await ann.post("/inbox/read", json={})).text
