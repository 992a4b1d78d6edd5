"""What went wrong, as the server says it, or why the server can't be asked."""

from typing import Any, Final, cast

import httpx2

UNREACHABLE: Final = "unreachable"


class CrontyError(Exception):
    """`code` is for programs, `message` says what was wrong, `hint` what to do next; `status` is HTTP's, or None."""

    def __init__(self, code: str, message: str, hint: str = "", status: int | None = None) -> None:
        super().__init__(f"{message} {hint}".strip())
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


def error_of(answer: httpx2.Response) -> CrontyError:
    """From problem details; whatever else answers (a proxy, say) is told by its status."""
    try:
        found: Any = answer.json()
    except ValueError:
        found = None
    told = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    message = str(told.get("detail") or f"{answer.url} answered {answer.status_code}.")
    return CrontyError(
        str(told.get("code") or f"http_{answer.status_code}"), message, str(told.get("hint") or ""), answer.status_code
    )


def unreachable(url: str, failure: Exception) -> CrontyError:
    said = str(failure) or type(failure).__name__
    return CrontyError(UNREACHABLE, f"{url} can't be reached: {said}.", "Is `cronty serve` running there?")
