"""Sign in with a key or a link, sign out, and choose a theme: all stored in cookies."""

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from cronty.contract.caller import Caller
from cronty.contract.result import Err
from cronty.web.callers import FindCaller, LocalKey
from cronty.web.dashboard.security import SESSION, YEAR, delete_cookie, local_path, set_cookie
from cronty.web.dashboard.visit import SIGNED_OUT, THEMES, Visit
from cronty.web.sessions import LASTS, MAX_TOKEN, Sessions


class Login:
    """`local` is the key of the user who runs this server, if only their machine can reach it."""

    def __init__(self, find_caller: FindCaller, sessions: Sessions, local: LocalKey | None) -> None:
        self._find_caller = find_caller
        self._sessions = sessions
        self._local = local

    async def show(self, visit: Visit) -> Response:
        code = visit.query.get("code")
        if code is not None:
            return await self._open(visit, code)
        if visit.caller is not SIGNED_OUT:
            return visit.go("/")
        return self._page(visit, local_path(visit.query.get("next")))

    async def sign_in(self, visit: Visit) -> Response:
        key, then = visit.form.text("key"), local_path(visit.form.get("next"))
        known = await self._find_caller(key) if 0 < len(key) <= MAX_TOKEN else _UNKNOWN
        if isinstance(known, Err):
            return self._page(visit, then, _UNKNOWN)
        return await self._signed_in(visit, visit.go(then), key, known.value)

    async def _open(self, visit: Visit, code: str) -> Response:
        """Sign in with the code of a link that `cronty open` made."""
        if self._local is None or not self._local.redeem(code):
            return self._page(visit, "/", _USED)
        # Not a redirect: a browser that came from a file sends no strict cookie to where it is redirected.
        return await self._signed_in(visit, visit.page("signed_in.html"), self._local.key, self._local.caller)

    async def _signed_in(self, visit: Visit, response: Response, token: str, caller: Caller) -> Response:
        await visit.service.trail.note_sign_in(replace(caller, surface="dashboard"))
        set_cookie(visit.request, response, SESSION, self._sessions.seal(token), lasts=LASTS)
        return response

    def _page(self, visit: Visit, then: str, err: Err | None = None) -> Response:
        return visit.page("sign_in.html", 401 if err else 200, next=then, err=err, local=self._local is not None)


_UNKNOWN: Final = Err("bad_token", "This key isn't valid.", "It may be revoked or expired. Is it complete?")
_USED: Final = Err("bad_token", "This link was used already, or is too old.", "`cronty open` makes a new one.")


async def sign_out(visit: Visit) -> Response:
    response = visit.go("/sign-in")
    delete_cookie(visit.request, response, SESSION)
    return response


async def set_theme(visit: Visit) -> Response:
    """Light, dark, or the system's."""
    response = visit.go(local_path(visit.form.get("next")))
    theme = visit.form.get("theme", "")
    if theme in THEMES:
        set_cookie(visit.request, response, "cronty_theme", theme, lasts=YEAR)
    else:
        delete_cookie(visit.request, response, "cronty_theme")
    return response
