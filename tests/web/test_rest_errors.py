"""What REST says when it can't: problem details with the codes of the door, and nothing that helps a stranger."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from chaos.postgres import Postgres
from cronty import Cronty
from cronty.asgi import http_app
from cronty.contract.caller import SCOPES, local_caller
from cronty.contract.codes import CODES
from cronty.contract.result import Err, Ok
from cronty.mcp.server import GROUPS
from cronty.store.migrate import migrate
from cronty.web.callers import LocalKey
from cronty.web.problems import PROBLEM_JSON, problem
from cronty.web.rest.openapi import openapi_document
from cronty.web.rest.request import MAX_BODY
from tests.web.conftest import PLACE, Api, Keyed

SOURCE = Path(__file__).parents[2] / "src/cronty"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation there is, with a path that names something, and what OpenAPI says of it."""
    for path, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), re.sub(r"\{\w+\}", "7654321", path), operation


def body_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    """The example that the page gives."""
    if "requestBody" not in operation:
        return None
    if operation["operationId"] == "save_channel":
        return {"url": "ntfy://127.0.0.1:9/nobody"}  # the example would be looked up
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
    return openapi_document()["components"]["schemas"][name]["examples"][0]


def told(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem, which must be one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM_JSON
    said = answer.json()
    assert (said["status"], said["code"], said["type"]) == (status, code, f"urn:cronty:problem:{code}")
    assert said["title"]
    assert said["detail"]
    return said


async def test_nobody_gets_in_without_a_good_token_anywhere(ann: Api) -> None:
    forged = ann.key[:-4] + "AAAA"
    for method, path, operation in operations():
        for authorization in (
            "",
            "Basic eDp5",
            "Bearer",
            "Bearer x",
            f"Bearer {forged}",
            "Bearer \xff",
            "Bearer a.b.c",
        ):
            answer = await ann.ask(method, path, headers={"authorization": authorization.encode("latin-1")})
            code = "bad_token" if authorization.startswith("Bearer ") else "no_token"
            said = told(answer, 401, code)
            assert answer.headers["www-authenticate"].startswith('Bearer realm="cronty"')
            assert said["hint"].startswith(("Send", "Use another")), "and not why"
            assert operation["responses"]["401"]


@pytest.mark.parametrize("scope", [one for one in SCOPES if one != "agenda"])  # that one is for a URL
async def test_a_token_without_the_scope_is_told_which(scope: str, keyed: Keyed) -> None:
    # With `prompts` a prompt could be meant (tests/web/test_scopes.py).
    rest = [one for one in SCOPES if one not in (scope, "prompts" if scope == "schedule" else scope)]
    api, refused = await keyed("ann", *rest), 0
    for method, path, operation in operations():
        if operation["x-scope"] == scope:
            answer = await api.ask(method, path, json=body_of(operation))
            assert f"the scope {scope}" in told(answer, 403, "missing_scope")["detail"]
            refused += 1
    assert refused


async def test_with_its_scope_alone_every_operation_but_the_stream_is_let_in(keyed: Keyed) -> None:
    for scope in SCOPES:
        api = await keyed("ann", scope)
        for method, path, operation in operations():
            if operation["x-scope"] == scope and path != "/events":
                answer = await api.ask(method, path, json=body_of(operation))
                assert answer.status_code not in (401, 403) or any(
                    said in answer.text for said in ("can't allow", "for its operator")
                ), (method, path, answer.text)


JOB = {"name": "b", "task": "run_backup", "trigger_type": "interval", "trigger_config": {"hours": 1}}


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "name", "name is required"),
        ({**JOB, "name": 7}, "name", "not 7"),
        ({**JOB, "max_runs": "7"}, "max_runs", "valid integer, not '7'"),
        ({**JOB, "trigger_type": "weekly"}, "trigger_type", "not 'weekly'"),
        ({**JOB, "nmae": "x"}, "nmae", "no field nmae"),
        ({**JOB, "tags": ["a", 7]}, "tags", "tags.1: Input should be a valid string, not 7"),
        ([], None, "isn't a JSON object"),
    ],
)
async def test_a_field_that_cannot_be_taken_is_named(ann: Api, body: object, field: str | None, said: str) -> None:
    problem = told(await ann.post("/jobs", json=body), 422, "bad_request")
    assert problem.get("field") == field
    assert said in problem["detail"]


async def test_a_query_that_cannot_be_taken_is_named(ann: Api) -> None:
    wrong = [("/jobs?limit=x", "limit", "bad_request"), ("/jobs?stauts=x", "stauts", "bad_request")]
    for path, field, code in (*wrong, ("/trail?before=0", "before", "bad_cursor")):
        assert told(await ann.get(path), 422, code)["field"] == field


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 422, "bad_request"),
        (b'"\xff"', 422, "bad_request"),
        (b"[" * 20_000, 422, "bad_request"),
        (b'{"name":' * 2_000 + b"1" + b"}" * 2_000, 422, "bad_request"),
        (b'{"name":"\\ud800","task":"x","trigger_type":"cron","trigger_config":{}}', 422, "bad_request"),
        (b"x" * (MAX_BODY + 1), 413, "too_large"),
    ],
)
async def test_a_body_that_cannot_be_read_is_a_problem_and_no_fault(
    ann: Api, body: bytes, status: int, code: str
) -> None:
    told(await ann.post("/jobs", content=body, headers={"content-type": "application/json"}), status, code)


async def test_only_a_body_that_may_hold_a_file_is_as_large_as_one(ann: Api) -> None:
    large = {"ics": "x" * MAX_BODY}
    assert told(await ann.ask("PUT", "/calendars/team", json=large), 422, "bad_trigger")
    assert told(await ann.ask("PUT", "/zone", json={"timezone": "x" * MAX_BODY}), 413, "too_large")


async def test_a_rule_nested_beyond_reading_is_no_fault(ann: Api) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    body = f'{{"name":"x","task":"run_backup","trigger_type":"cron","trigger_config":{{"expression":{deep}}}}}'
    answer = await ann.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text


async def test_what_is_not_there_and_what_cannot_be_done_there(ann: Api) -> None:
    assert "/api/v1/nothing" in told(await ann.get("/nothing"), 404, "no_such_path")["detail"]
    wrong = await ann.ask("PUT", "/jobs")
    assert "PUT /api/v1/jobs" in told(wrong, 405, "bad_method")["detail"]
    assert wrong.headers["allow"]


async def test_a_database_that_is_away_is_said_everywhere_and_nothing_breaks() -> None:
    postgres = Postgres(shared_buffers="32MB")
    try:
        postgres.start()
        await migrate(postgres.url)
        async with Cronty(postgres.url, run_jobs=False) as cronty:
            app = http_app(cronty, GROUPS, ["here"], LocalKey("local", "local", "http://here"))
            made = await cronty.service.identity.add_key(local_caller("ann"), "a key")
            assert isinstance(made, Ok)
            postgres.stop("immediate")
            here = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here")
            async with here as http:
                known = {"authorization": f"Bearer {made.value.text}"}
                told(await http.get(f"{PLACE}/jobs", headers=known), 503, "unavailable")
                away = await http.post("/mcp", headers=known, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
                assert (away.status_code, away.headers["retry-after"]) == (503, "5")
                assert "database" in away.json()["error"]["message"]
                http.headers["authorization"] = "Bearer local"
                for method, path, operation in operations():
                    if operation["operationId"] in ("who_am_i", "save_channel"):
                        continue  # the one needs no database, the other looks at the URL first
                    answer = await http.request(method, PLACE + path, json=body_of(operation))
                    told(answer, 503, "unavailable")
                    assert answer.headers["retry-after"]
    finally:
        postgres.close()


@pytest.mark.parametrize("host", ["evil.example", "here:1", "127.0.0.1", ""])
async def test_a_host_name_that_is_not_ours_is_misdirected(ann: Api, host: str) -> None:
    for path in ("/jobs", "/openapi.json", "/docs"):
        told(await ann.get(path, headers={"host": host}), 421, "misdirected")
    assert (await ann.http.get("/health", headers={"host": host})).json() == {"status": "alive"}
    assert (await ann.http.get("/ready", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://here.evil.example", "file://here"])
async def test_a_page_of_another_origin_is_forbidden(ann: Api, origin: str) -> None:
    told(await ann.get("/jobs", headers={"origin": origin}), 403, "foreign_origin")


@pytest.mark.parametrize(("host", "origin"), [("here", "https://here"), ("LOCALHOST:8125", "http://localhost:8125")])
async def test_our_own_names_and_pages_are_let_in(ann: Api, host: str, origin: str) -> None:
    assert (await ann.get("/jobs", headers={"host": host, "origin": origin})).status_code == 200


async def test_every_answer_keeps_browsers_from_doing_anything_with_it(ann: Api) -> None:
    for path in ("/jobs", "/docs", "/openapi.json", "/jobs/1"):
        answer = await ann.get(path)
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_code_is_in_the_table_and_every_code_of_the_table_is_used() -> None:
    said = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    used = set(re.findall(r'\bErr\(\s*"(\w+)"', said)) | {"over_limit", "unreadable", "ambiguous"}
    used |= set(re.findall(r'\bBetween\([^"]*"(\w+)"', said))
    assert used == CODES.keys()
    assert problem(Err("bad_trigger", "x")).status_code == 422


def test_the_application_serves_rest_beside_the_rest(application: Starlette) -> None:
    paths = [getattr(route, "path", "") for route in application.routes]
    assert paths[:2] == ["/health", "/ready"]
    assert PLACE in paths
    assert paths[-1] == "", "MCP, which takes whatever is left"
