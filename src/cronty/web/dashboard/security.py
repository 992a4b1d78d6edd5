"""Security of the dashboard: headers, cookies, forms and CSRF checks."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from cronty.web.dashboard.prefix import prefix_of

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: then a browser sends no origin with a form.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
SESSION: Final = "cronty_session"
BROWSER: Final = "cronty_browser"
YEAR: Final = 365 * 86400
LARGEST_FORM: Final = 300_000


class TooLarge(Exception):
    """A form larger than `LARGEST_FORM`."""


class Form(dict[str, str]):
    """The fields a browser sent; the last value of a repeated one. `lists` has all values."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self.lists: dict[str, list[str]] = {}
        for name, value in pairs:
            self.lists.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        return self.get(name, "").replace("\r\n", "\n").strip()


async def read_form(request: Request) -> Form:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise TooLarge
    return Form(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=2000))


def csrf_token(browser: str, session: str | None) -> str:
    """The token in this browser's forms, derived from two cookies that no other site can read."""
    return hmac.new(browser.encode(), f"cronty csrf {session or ''}".encode(), hashlib.sha256).hexdigest()


def from_our_pages(request: Request, form: Form, browser: str | None, session: str | None) -> bool:
    """Whether a form was sent by one of our pages, in the browser that we sent the page to."""
    origin = urlsplit(request.headers.get("origin", ""))
    if origin.scheme not in ("http", "https") or origin.netloc.lower() != request.headers.get("host", "").lower():
        return False
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    sent = request.headers.get("x-csrf-token") or form.get("csrf", "")
    return bool(browser) and hmac.compare_digest(sent.encode(), csrf_token(browser or "", session).encode())


def new_browser() -> str:
    return secrets.token_urlsafe(24)


def set_cookie(request: Request, response: Response, name: str, value: str, *, lasts: int) -> None:
    """Set a cookie that scripts can't read and other sites can't send, for that many seconds."""
    # Behind a TLS proxy the request is http, but the origin of the form is https.
    secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
    path = prefix_of(request) or "/"
    response.set_cookie(name, value, max_age=lasts, path=path, secure=secure, httponly=True, samesite="strict")


def delete_cookie(request: Request, response: Response, name: str) -> None:
    response.delete_cookie(name, path=prefix_of(request) or "/", httponly=True, samesite="strict")


def local_path(text: str | None) -> str:
    """The path if it is on this server, else the first page."""
    if not text or not text.startswith("/") or text.startswith("//") or "\\" in text or not text.isprintable():
        return "/"
    return text
