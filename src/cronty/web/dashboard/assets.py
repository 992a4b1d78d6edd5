"""Style, script and icon: each under a URL that changes with its content, so that browsers can cache it forever."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    url: str
    body: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Every file under `static`, by its name."""
    found: dict[str, Asset] = {}
    for one in (files("cronty.web.dashboard") / "static").iterdir():
        body = one.read_bytes()
        digest = hashlib.sha256(body).hexdigest()[:12]
        media_type = _TYPES[one.name.rsplit(".", 1)[-1]]
        found[one.name] = Asset(f"/static/{digest}/{one.name}", body, media_type)
    return found


def asset_url(name: str) -> str:
    return assets()[name].url
