"""Leads every Python that a pooled test run starts through its pooler: Python imports a module of this name by itself.

`CRONTY_TEST_POOLER` has the server's address and the pooler's. What names the server in CRONTY_DATABASE_URL gets the
pooler's URL there, and the server's own as CRONTY_DIRECT_URL.
"""

import os
from urllib.parse import urlsplit, urlunsplit


def through_the_pooler(url: str) -> str | None:
    """The same database through the pooler; None if the URL names another server, another user or a way of its own."""
    server, _, pooler = os.environ.get("CRONTY_TEST_POOLER", "").partition(" ")
    if not pooler:
        return None
    parts, wanted = urlsplit(url), urlsplit(server)
    if (parts.netloc, parts.query) != (wanted.netloc, wanted.query):
        return None
    return urlunsplit(urlsplit(pooler)._replace(path=parts.path))


_url = os.environ.get("CRONTY_DATABASE_URL")
if _url and "CRONTY_DIRECT_URL" not in os.environ and (_pooled := through_the_pooler(_url)):
    os.environ |= {"CRONTY_DATABASE_URL": _pooled, "CRONTY_DIRECT_URL": _url}
