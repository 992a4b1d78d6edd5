"""The API description as OpenAPI, and as a plain HTML page that loads no other files."""

from html import escape
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cronty.web.rest.openapi import openapi_document
from cronty.web.rest.request import SAFE

_HEAD: Final = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Cronty REST API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main><h1>Cronty REST API</h1>
<p>Machine-readable version: <a href="openapi.json">openapi.json</a>.</p>
"""


def pages() -> list[Route]:
    """Neither needs a token: they contain no owner's data."""

    async def openapi(_request: Request) -> Response:
        return Response(orjson.dumps(openapi_document()), headers=dict(SAFE), media_type="application/json")

    async def docs(_request: Request) -> Response:
        return Response(page(openapi_document()), headers=dict(SAFE), media_type="text/html; charset=utf-8")

    return [Route("/openapi.json", openapi), Route("/docs", docs)]


def page(description: dict[str, Any]) -> str:
    parts = [_HEAD, f"<pre>{escape(description['info']['description'])}</pre>"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(_section(method.upper(), description["servers"][0]["url"] + path, operation))
    return "".join([*parts, "</main></body></html>"])


def _section(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f'<h2 id="{escape(operation["operationId"])}"><code>{method} {escape(path)}</code></h2>']
    parts += [f"<p>{escape(line)}</p>" for line in operation["description"].splitlines() if line]
    if given := operation.get("parameters"):
        rows = [
            f"<li><code>{escape(one['name'])}</code> ({escape(one['in'])}): {escape(one.get('description', ''))}</li>"
            for one in given
        ]
        parts.append(f"<ul>{''.join(rows)}</ul>")
    parts.append(f"<p>Status codes: {', '.join(operation['responses'])}.</p>")
    return "".join(parts)
