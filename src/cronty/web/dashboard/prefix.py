"""The dashboard below a path of another application: links, forms and redirects get that path in front.

Pages and handlers know paths of the dashboard alone, as "/jobs/7"; those go through here on their way out.
"""

import re
from typing import Final

from starlette.requests import Request

_ATTRIBUTE: Final = re.compile(r' (href|src|action|formaction|hx-get|hx-post)="/(?!/)')
"""Text is escaped, so a quote after such a name is always the template's own."""


def prefix_of(request: Request) -> str:
    """Where the dashboard is mounted, as "/cronty"; empty at the root of a server."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def inner_path(request: Request) -> str:
    """The path of this request within the dashboard."""
    return request.url.path.removeprefix(prefix_of(request)) or "/"


def below(prefix: str, html: str) -> str:
    """The page with every link below the prefix."""
    return _ATTRIBUTE.sub(rf' \1="{prefix}/', html) if prefix else html
