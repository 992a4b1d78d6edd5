"""Who a program runs as, and whether a file is the operator's alone."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path


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


def flaw_of_file(path: Path) -> str | None:
    """Why others could have written this file, as the rest of a sentence; None if nobody could but root and us."""
    found = path.stat()
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to {_name(found.st_uid)}"
    if found.st_mode & 0o022:
        return "may be written by others"
    folder = path.resolve().parent.stat()
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        return "is in a world-writable folder"
    return None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
