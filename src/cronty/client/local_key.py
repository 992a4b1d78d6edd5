"""Finds the key of a server that this user runs on this machine."""

import os
from collections.abc import Generator
from ipaddress import ip_address
from pathlib import Path
from typing import override
from urllib.parse import urlsplit

import httpx2

from cronty.contract.local_key import FILE, make_code
from cronty.data_folder import default_data_folder


class LocalAuth(httpx2.Auth):
    """Signs each request with a new code."""

    def __init__(self, key: str, url: str) -> None:
        self._key, self._url = key, url

    @override
    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {make_code(self._key, 'call', self._url)}"
        yield request


def local_auth(url: str) -> LocalAuth | None:
    """For a server on this machine whose key this user can read; else None."""
    if not is_loopback(urlsplit(url).hostname or ""):
        return None
    folder = os.environ.get("CRONTY_DATA_DIR")
    path = (Path(folder).expanduser() if folder else default_data_folder()) / FILE
    try:
        return LocalAuth(path.read_text(encoding="ascii").strip(), url)
    except (OSError, UnicodeDecodeError):
        return None


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
