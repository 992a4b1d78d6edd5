"""Sign in with a key, sign out, and choose a theme: all stored in cookies."""

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.web.callers import FindCaller
from cronty.web.dashboard.security import LONGEST_SESSION, SESSION, local_path, set_cookie
from cronty.web.dashboard.visit import SIGNED_OUT, THEMES, Handler, Visit


async def show_sign_in(visit: Visit) -> Response:
    if visit.caller is not SIGNED_OUT:
        return visit.go("/")
    return visit.page("sign_in.html", next=local_path(visit.query.get("next")))


def signing_in(find_caller: FindCaller) -> Handler:
    """The key is stored only in the browser, in a cookie that no script can read."""

    async def sign_in(visit: Visit) -> Response:
        key, then = visit.form.text("key"), local_path(visit.form.get("next"))
        if not visit.auth:
            return visit.go(then)
        known = await find_caller(key) if 0 < len(key) <= LONGEST_SESSION else _UNKNOWN
        if isinstance(known, Err):
            return visit.page("sign_in.html", 401, next=then, err=_UNKNOWN)
        response = visit.go(then)
        set_cookie(visit.request, response, SESSION, key, days=30)
        return response

    return sign_in


_UNKNOWN = Err("unauthenticated", "This key isn't valid.", "It may be revoked or expired. Is it complete?")


async def sign_out(visit: Visit) -> Response:
    response = visit.go("/sign-in" if visit.auth else "/")
    response.delete_cookie(SESSION, path="/", httponly=True, samesite="strict")
    return response


async def set_theme(visit: Visit) -> Response:
    """Light, dark, or the system's."""
    response = visit.go(local_path(visit.form.get("next")))
    theme = visit.form.get("theme", "")
    if theme in THEMES:
        set_cookie(visit.request, response, "cronty_theme", theme, days=365)
    else:
        response.delete_cookie("cronty_theme", path="/", httponly=True, samesite="strict")
    return response
