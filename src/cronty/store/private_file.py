"""A folder of this user's own, and texts that only this user can read, made by the first process to need them."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile


class BadPrivateFile(Exception):
    """A private file or folder can't be made or read, or isn't private."""


def private_folder(path: Path, *, make: bool = False) -> Path:
    """The folder by its full name. If it is there, nobody else may write in it: what we find there is obeyed."""
    folder = path.expanduser().resolve()
    if make:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return folder
    if found.st_uid not in (os.geteuid(), 0):
        raise BadPrivateFile(f"{folder} belongs to another user. Set CRONTY_DATA_DIR to a folder of your own.")
    if found.st_mode & 0o022:
        raise BadPrivateFile(f"Others may change what is in {folder}. Fix it with: chmod go-w {folder}")
    return folder


def private_text(path: Path, new: Callable[[], str]) -> str:
    """The text in the file, which the first call makes with mode 0600."""
    try:
        if not path.exists():
            _make(path, new())
        with open(path, encoding="ascii") as opened:
            found = os.fstat(opened.fileno())
            if found.st_mode & 0o077:
                raise BadPrivateFile(f"Others may read or change {path}. Fix it with: chmod 600 {path}")
            if found.st_uid not in (os.geteuid(), 0):
                raise BadPrivateFile(f"{path} belongs to another user. Set CRONTY_DATA_DIR to a folder of your own.")
            return opened.read().strip()
    except OSError as error:
        raise BadPrivateFile(f"{path} can't be used: {error}. Set CRONTY_DATA_DIR to a folder of your own.") from error


def _make(path: Path, text: str) -> None:
    private_folder(path.parent, make=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete_on_close=False) as fresh:  # mode 0600
        fresh.write(text + "\n")
        fresh.flush()
        os.fsync(fresh.fileno())
        with suppress(FileExistsError):  # the file appears complete, and the first of several processes wins
            os.link(fresh.name, path)
