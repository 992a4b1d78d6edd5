"""A folder of this user's own, and texts that only this user can read, made by the first process to need them."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from cronty.own_files import NotOurs, check_way, make_own_folder, read_own


class BadPrivateFile(Exception):
    """A private file or folder can't be made or read, or isn't private."""


def private_folder(path: Path, *, make: bool = False) -> Path:
    """The folder by its full name. Nobody else may write in it or exchange it: what we find there is obeyed."""
    folder = path.expanduser().absolute()
    try:
        if make:
            make_own_folder(folder)
        else:
            check_way(folder)
        folder = folder.resolve()
        mode = folder.stat().st_mode
    except NotOurs as others:
        raise _not_private(path, others) from None
    except (FileNotFoundError, NotADirectoryError):
        if make:
            raise
        return folder
    if mode & 0o022:
        raise BadPrivateFile(f"Others may change what is in {folder}. Fix it with: chmod go-w {folder}")
    return folder


def private_text(path: Path, new: Callable[[], str]) -> str:
    """The text in the file, which the first call makes with mode 0600."""
    try:
        if not path.exists():
            _make(path, new())
        return read_own(path, 0o077).decode("ascii").strip()
    except NotOurs as others:
        raise _not_private(path, others) from None
    except OSError as error:
        raise BadPrivateFile(f"{path} can't be used: {error}. Set CRONTY_DATA_DIR to a folder of your own.") from error


def _not_private(path: Path, others: NotOurs) -> BadPrivateFile:
    return BadPrivateFile(
        f"{path} {others.flaw}. Fix it with: {others.mend}, or set CRONTY_DATA_DIR to a folder of your own"
    )


def _make(path: Path, text: str) -> None:
    private_folder(path.parent, make=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete_on_close=False) as fresh:  # mode 0600
        fresh.write(text + "\n")
        fresh.flush()
        os.fsync(fresh.fileno())
        with suppress(FileExistsError):  # the file appears complete, and the first of several processes wins
            os.link(fresh.name, path)
