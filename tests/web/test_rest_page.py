"""What the OpenAPI page and docs/reference/rest.md say of REST is complete, and is what it does.

`python -m tests.web.test_rest_page` rewrites the page.
"""

import sys
from pathlib import Path
from typing import Any, Final, cast

import httpx2
import pytest
from jsonschema import Draft202012Validator

from cronty.app import Cronty
from cronty.asgi import http_app
from cronty.contract.caller import MEANINGS
from cronty.contract.codes import CODES
from cronty.contract.http import PREFIX as PLACE
from cronty.mcp.server import GROUPS
from cronty.web.problems import title_of
from cronty.web.rest.openapi import openapi_document
from tests.web.conftest import Api

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/rest.md"
HEAD: Final = """\
# REST

Generated from the routes themselves by `python -m tests.web.test_rest_page`; a test holds this page to them.
`cronty serve` offers it beside MCP, under `{place}`. `{place}/openapi.json` says
the same for programs, `{place}/docs` on a plain page. From Python there is [a client](client.md).

```console
curl http://127.0.0.1:8125{place}/jobs -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{{
  "name": "stand-up", "task": "notify", "kwargs": {{"message": "Stand-up", "topic": "phone"}},
  "trigger_type": "words", "trigger_config": {{"text": "every weekday at 9:00"}}, "timezone": "Europe/Berlin"}}'
```

- **Who calls**: `Authorization: Bearer <key>`, made with `cronty token add`; its scopes say what it may. Without
  `--auth` the key of the user who runs the server is good too ([which](../how-to/service.md#who-may-call-it)).
- **A calendar to subscribe to**: `GET {place}/agenda/<key>.ics` is the agenda as an iCalendar file, without a header.
  The key has the scope `agenda` and no other ([what is in it](../explanation/time.md#a-calendar-to-subscribe-to)).
- **Ids** are taken in any form. Another owner's is answered like one that doesn't exist, byte for byte.
- **Once**: with an `Idempotency-Key` a repeated `POST {place}/jobs` answers with the job that the first one made.
- **Versions**: a job's `ETag` goes back as `If-Match` of a change, which is refused (412) if the job has changed
  meanwhile; or as `If-None-Match` of a look, which then answers 304. Runs change the tag, but not the version in it.
- **Pages**: as long as an answer has a `cursor` there is more; give it back as `cursor` (jobs) or `before` (the rest).
- **Unknown names** in a body or a query are refused: a mistyped one would do nothing.
- **Names**: a request by a host name the server doesn't know is misdirected (421; `cronty serve --name` adds one), and
  pages of other origins are forbidden (403). `/health` and `/ready` answer to any name.

| scope | allows |
| --- | --- |
{scopes}

## What goes wrong

Problem details (RFC 9457, `application/problem+json`): `code` is for programs and the same on every surface, `detail`
says what was wrong, `hint` what to do next, and `field` which field of the request was wrong, if it was one.

| status | codes |
| --- | --- |
{codes}

## Operations

| ask | scope | does |
| --- | --- | --- |
{operations}

"""


def page() -> str:
    description = openapi_document()
    found = [
        (method.upper(), path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    rows = [
        f"| [`{method} {path}`](#{operation['operationId']}) | {operation['x-scope']} | {_sentence(operation)} |"
        for method, path, operation in found
    ]
    scopes = "\n".join(f"| `{scope}` | {meaning} |" for scope, meaning in MEANINGS.items())
    head = HEAD.format(place=PLACE, scopes=scopes, codes="\n".join(_codes()), operations="\n".join(rows))
    return head + "\n".join(_section(description, *one) for one in found)


def _sentence(operation: dict[str, Any]) -> str:
    return operation["description"].split("\n")[0]


def _codes() -> list[str]:
    by_status: dict[int, list[str]] = {}
    for code, one in CODES.items():
        by_status.setdefault(one.status, []).append(f"`{code}`")
    return [f"| {status} {title_of(status)} | {', '.join(codes)} |" for status, codes in sorted(by_status.items())]


def _section(description: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [f"### `{operation['operationId']}`\n", f"`{method} {PLACE}{path}` {_sentence(operation)}\n"]
    taken = [
        (one["name"], one["in"], one.get("required", False), one.get("description", ""))
        for one in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        schema = description["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]
        required = schema.get("required", [])
        taken += [(name, "body", name in required, _meaning(one)) for name, one in schema["properties"].items()]
    if taken:
        lines += ["| name | in | meaning |", "| --- | --- | --- |"]
        lines += [
            f"| `{name}`{' (required)' if required else ''} | {where} | {meaning.replace('|', chr(92) + '|')} |"
            for name, where, required, meaning in taken
        ]
        lines.append("")
    return "\n".join([*lines, _answers(description, operation)])


def _meaning(schema: dict[str, Any]) -> str:
    choices: list[str] = schema.get("enum") or next(
        (one["enum"] for one in schema.get("anyOf", []) if "enum" in one), list[str]()
    )
    said = schema.get("description", "")
    return f"{said} One of: {', '.join(choices)}.".strip() if choices else said


def _answers(description: dict[str, Any], operation: dict[str, Any]) -> str:
    good, told = next((status, one) for status, one in operation["responses"].items() if status < "300")
    shape = told.get("content", {}).get("application/json", {}).get("schema")
    what = "a stream of events" if "text/event-stream" in told.get("content", {}) else "nothing"
    if shape:
        schema = description["components"]["schemas"][shape["$ref"].rsplit("/", 1)[1]]
        what = ", ".join(f"`{name}`" for name in schema["properties"])
    others = ", ".join(status for status in operation["responses"] if status != good)
    return f"Answers {good} with {what}. Or: {others}.\n"


def test_the_page_about_rest_is_as_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `python -m tests.web.test_rest_page`."


def fits(schema: dict[str, Any], example: object) -> None:
    whole = {**schema, "components": openapi_document()["components"]}
    cast("Any", Draft202012Validator)(whole).validate(example)


def test_every_operation_has_examples_that_fit_and_every_error_is_declared() -> None:
    for path, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["security"] == [{"key": []}], where
            assert {"401", "403", "421", "422", "500", "503"} <= operation["responses"].keys(), where
            assert ("404" in operation["responses"]) >= ("{" in path), where
            assert ("413" in operation["responses"]) == ("requestBody" in operation), where
            for status, told in operation["responses"].items():
                for media, content in told.get("content", {}).items():
                    assert content["example"], f"{where} {status}"
                    assert (media == "application/problem+json") == (status >= "400"), where
                    fits(content["schema"], content["example"])
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                [example] = openapi_document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]["examples"]
                fits(schema, example)
            for parameter in operation.get("parameters", []):
                assert parameter["description"], where


async def test_the_descriptions_need_no_token_and_load_nothing(ann: Api) -> None:
    for path, kind in (("/openapi.json", "application/json"), ("/docs", "text/html; charset=utf-8")):
        told = await ann.get(path, headers={"authorization": ""})
        assert (told.status_code, told.headers["content-type"]) == (200, kind)
    text = (await ann.get("/docs")).text
    assert "<script" not in text
    assert "src=" not in text
    for path in openapi_document()["paths"]:
        assert f"{PLACE}{path}" in text


async def test_the_description_is_that_of_the_running_server(ann: Api) -> None:
    answer: httpx2.Response = await ann.get("/openapi.json")
    assert answer.json() == openapi_document()


async def test_without_the_extra_there_is_no_dashboard_and_a_line_says_what_to_install(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    async with Cronty(url, run_jobs=False) as cronty:
        transport = httpx2.ASGITransport(http_app(cronty, GROUPS, ["here"]))
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
            page = await client.get("/")
            assert (page.status_code, page.text) == (
                404, "There is no dashboard here: it needs pip install 'cronty[web]'.\n",
            )  # fmt: skip
            assert (await client.get("/health")).status_code == 200
            assert (await client.get("/api/v1/jobs")).status_code == 401


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
