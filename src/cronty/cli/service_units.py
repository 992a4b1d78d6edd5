"""Installs the keeper as a systemd or launchd unit, if this user has one of them."""

import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cronty.cli.service_folder import Kept, ServiceFolder
from cronty.data_folder import default_data_folder
from cronty.own_files import NotOurs, make_own_folder

_PATIENCE: Final = 90.0


class UnitRefused(Exception):
    """systemd or launchd refused the service; the text is its message."""


def keeper_of_this_system() -> Kept:
    """systemd if the user's instance answers, launchd on a Mac, else `background`."""
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl") is None:
        return "background"
    asked = subprocess.run(["systemctl", "--user", "show-environment"], capture_output=True, check=False)
    return "systemd" if asked.returncode == 0 else "background"


def name_of(folder: ServiceFolder) -> str:
    """The unit's name: `cronty`, with a hash if the data folder isn't the default one."""
    if folder.path == default_data_folder().expanduser().resolve() / "service":
        return "cronty"
    return f"cronty-{hashlib.sha256(os.fsencode(folder.path)).hexdigest()[:8]}"


def unit_file(kept: Kept, folder: ServiceFolder) -> Path:
    if kept == "launchd":
        return Path.home() / "Library/LaunchAgents" / f"{name_of(folder)}.plist"
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "systemd/user" / f"{name_of(folder)}.service"


def systemd_unit(command: Sequence[str]) -> str:
    """`KillMode=process`: a PostgreSQL started by the service may have other users by now."""
    return f"""[Unit]
Description=Cronty, durable schedules
After=network.target

[Service]
ExecStart={" ".join(_quoted(part) for part in command)}
Restart=always
RestartSec=2
KillMode=process
TimeoutStopSec=70

[Install]
WantedBy=default.target
"""


def launchd_agent(command: Sequence[str], folder: ServiceFolder) -> bytes:
    """`AbandonProcessGroup`: as with systemd, a PostgreSQL that was started outlives the service if others use it."""
    return plistlib.dumps(
        {
            "Label": name_of(folder),
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": True,
            "AbandonProcessGroup": True,
            "ThrottleInterval": 2,
            "ExitTimeOut": 70,
            "StandardOutPath": str(folder.log),
            "StandardErrorPath": str(folder.log),
        }
    )


def install(kept: Kept, command: Sequence[str], folder: ServiceFolder) -> None:
    """Write the unit and start it, now and at every login."""
    path, name = write_unit(kept, command, folder), name_of(folder)
    if kept == "systemd":
        _run("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "enable", f"{name}.service")
        _run("systemctl", "--user", "restart", f"{name}.service")
    elif kept == "launchd":
        _run("launchctl", "bootout", f"gui/{os.getuid()}/{name}", check=False)
        _run("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path))


def write_unit(kept: Kept, command: Sequence[str], folder: ServiceFolder) -> Path:
    """The unit's file, which nobody else can write or exchange, whatever the umask: it names a program to run."""
    path = unit_file(kept, folder)
    unit = systemd_unit(command).encode() if kept == "systemd" else launchd_agent(command, folder)
    try:
        make_own_folder(path.parent)
    except NotOurs as others:
        raise UnitRefused(f"{path.parent} {others.flaw}. Fix it with: {others.mend}") from None
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(unit)
    return path


def remove(kept: Kept, folder: ServiceFolder) -> None:
    """Stop the service and remove its unit; it may be gone already."""
    name = name_of(folder)
    if kept == "systemd":
        _run("systemctl", "--user", "disable", "--now", f"{name}.service", check=False)
        unit_file(kept, folder).unlink(missing_ok=True)
        _run("systemctl", "--user", "daemon-reload", check=False)
    elif kept == "launchd":
        _run("launchctl", "bootout", f"gui/{os.getuid()}/{name}", check=False)
        unit_file(kept, folder).unlink(missing_ok=True)


def _run(*command: str, check: bool = True) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode and check:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise UnitRefused(f"`{' '.join(command)}` says: {lines[-1] if lines else done.returncode}")


def _quoted(part: str) -> str:
    """One word of a unit's command line, with its special characters `%` and `$` escaped."""
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(each in part for each in " \t'\"\\") else escaped
