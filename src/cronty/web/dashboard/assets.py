"""Style, script, typeface and icon: each under a URL that changes with its content, so that browsers can cache it."""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}
_USED: Final = re.compile(rb'url\("([a-z0-9.-]+)"\)')
"""A file that a style sheet uses."""


class Asset(NamedTuple):
    url: str
    body: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Every file under `static`, by its name."""
    bodies = {one.name: one.read_bytes() for one in (files("cronty.web.dashboard") / "static").iterdir()}
    found = {name: _asset(name, body) for name, body in bodies.items() if not name.endswith(".css")}
    for name in bodies.keys() - found.keys():
        # Relative to the style sheet, so that it holds wherever the dashboard is mounted.
        body = _USED.sub(lambda used: f'url("../..{found[used[1].decode()].url}")'.encode(), bodies[name])
        found[name] = _asset(name, body)
    return found


def _asset(name: str, body: bytes) -> Asset:
    digest = hashlib.sha256(body).hexdigest()[:12]
    return Asset(f"/static/{digest}/{name}", body, _TYPES[name.rsplit(".", 1)[-1]])


def asset_url(name: str) -> str:
    return assets()[name].url
