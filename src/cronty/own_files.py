"""Files and folders that nobody but this user and root could have written: what stands in them is obeyed.

Whoever may write in a folder can put something else in the place of what is in it. So a file is as good as every folder
and every link on the way to it, from the root of the file system on. Once each of them is found good nobody else can
change the way, so nothing is exchanged between the check and what follows. A file is opened once; what is open is
checked and read.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MAX_LINKS: Final = 40


class NotOurs(Exception):
    """Others could have written a file or folder: `flaw` is the rest of a sentence about it, `mend` what to do."""

    def __init__(self, flaw: str, mend: str) -> None:
        super().__init__(flaw)
        self.flaw, self.mend = flaw, mend


def check_way(path: Path) -> None:
    """`NotOurs` if others could put something else there; the path needn't exist to its end."""
    for entry, found in _on_the_way(path):
        last = entry == path.absolute()
        through = "" if last else f"is reached through {entry}, which "
        if not _is_trusted(found.st_uid):
            raise NotOurs(f"{through}belongs to {_name(found.st_uid)}", f"chown {_name(os.geteuid())} {entry}")
        if stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_ISVTX and _others_may_write(found):
            raise NotOurs(f"{through}may be written by others", f"chmod go-w {entry}")


def read_own(path: Path, forbidden: int = 0o022) -> bytes:
    """What is in a file that others couldn't have written, or `NotOurs`; `forbidden` are rights it must not give."""
    check_way(path)
    with open(path, "rb") as opened:
        found = os.fstat(opened.fileno())
        if not _is_trusted(found.st_uid):
            raise NotOurs(f"belongs to {_name(found.st_uid)}", f"chown {_name(os.geteuid())} {path}")
        if found.st_mode & 0o022 & forbidden:
            raise NotOurs("may be written by others", f"chmod 600 {path}")
        if found.st_mode & forbidden:
            raise NotOurs("may be read by others", f"chmod 600 {path}")
        return opened.read()


def make_own_folder(path: Path) -> None:
    """Make the folder, and those above it that aren't there, for this user alone; whatever the umask."""
    check_way(path)
    # What root makes, the user that runs PostgreSQL must be able to pass through.
    above = 0o711 if os.geteuid() == 0 else 0o700
    missing = [one for one in (path.absolute(), *path.absolute().parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=0o700 if one == path.absolute() else above, exist_ok=True)
    check_way(path)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def _on_the_way(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link that one passes on the way to a path, and what is at its end."""
    here, links = Path("/"), 0
    left = [*reversed(path.absolute().parts[1:])]
    yield here, here.lstat()
    while left:
        part = left.pop()
        if part == "..":
            here = here.parent
            continue
        entry = here / part
        try:
            found = entry.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        yield entry, found
        if not stat.S_ISLNK(found.st_mode):
            here = entry
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = Path(os.readlink(entry))
        here = Path("/") if target.is_absolute() else here
        left += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _is_trusted(uid: int) -> bool:
    return uid in (0, os.geteuid())


def _others_may_write(found: os.stat_result) -> bool:
    return bool(found.st_mode & 0o002 or (found.st_mode & 0o020 and not _is_alone_in(found.st_gid)))


def _is_alone_in(gid: int) -> bool:
    """Whether a group is this user's own: where each user has one, new folders may be written by it."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and gid == user.pw_gid and set(group.gr_mem) <= {user.pw_name}


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
