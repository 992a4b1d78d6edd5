"""Who a program runs as."""

import os
import pwd
from dataclasses import dataclass
from typing import Final

OF_DATABASE: Final = "pgserver"
"""The user that runs PostgreSQL under root. The wheel that brings PostgreSQL makes this user, and names it."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine, with everything a program needs to run as that user."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def account_of(name: str) -> Account | None:
    """None if there is no such user here."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, found.pw_uid, found.pw_gid, tuple(os.getgrouplist(name, found.pw_gid)), found.pw_dir)
