"""Who keeps the keeper: systemd or launchd, where there is one that works for this user."""

import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from cronty.cli.service_place import Kept, Place

_PATIENCE: Final = 90.0


class UnitRefused(Exception):
    """The system's own keeper doesn't take the service; the text is what it said."""


def keeper_of_this_system() -> Kept:
    """systemd on a Linux where the user has one that answers, launchd on a Mac, else nobody but ourselves."""
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl") is None:
        return "background"
    asked = subprocess.run(["systemctl", "--user", "show-environment"], capture_output=True, check=False)
    return "systemd" if asked.returncode == 0 else "background"


def name_of(place: Place) -> str:
    """`cronty`; with something after it for data that aren't in the usual folder."""
    if place.folder == Place(user_data_path("cronty")).folder:
        return "cronty"
    return f"cronty-{hashlib.sha256(os.fsencode(place.folder)).hexdigest()[:8]}"


def unit_file(kept: Kept, place: Place) -> Path:
    if kept == "launchd":
        return Path.home() / "Library/LaunchAgents" / f"{name_of(place)}.plist"
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "systemd/user" / f"{name_of(place)}.service"


def systemd_unit(command: Sequence[str]) -> str:
    """`KillMode=process`: a PostgreSQL that the service has started may have other users by now."""
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


def launchd_agent(command: Sequence[str], place: Place) -> bytes:
    """`AbandonProcessGroup`: as with systemd, a PostgreSQL that was started outlives the service if others use it."""
    return plistlib.dumps(
        {
            "Label": name_of(place),
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": True,
            "AbandonProcessGroup": True,
            "ThrottleInterval": 2,
            "ExitTimeOut": 70,
            "StandardOutPath": str(place.log),
            "StandardErrorPath": str(place.log),
        }
    )


def install(kept: Kept, command: Sequence[str], place: Place) -> None:
    """Write the unit, and have it started now and at every login."""
    path, name = unit_file(kept, place), name_of(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kept == "systemd":
        path.write_text(systemd_unit(command), encoding="utf-8")
        _call("systemctl", "--user", "daemon-reload")
        _call("systemctl", "--user", "enable", f"{name}.service")
        _call("systemctl", "--user", "restart", f"{name}.service")
    elif kept == "launchd":
        path.write_bytes(launchd_agent(command, place))
        _call("launchctl", "bootout", f"gui/{os.getuid()}/{name}", refused=False)
        _call("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path))


def remove(kept: Kept, place: Place) -> None:
    """Stop the service and forget its unit; one that is gone already is fine."""
    name = name_of(place)
    if kept == "systemd":
        _call("systemctl", "--user", "disable", "--now", f"{name}.service", refused=False)
        unit_file(kept, place).unlink(missing_ok=True)
        _call("systemctl", "--user", "daemon-reload", refused=False)
    elif kept == "launchd":
        _call("launchctl", "bootout", f"gui/{os.getuid()}/{name}", refused=False)
        unit_file(kept, place).unlink(missing_ok=True)


def _call(*command: str, refused: bool = True) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode and refused:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnitRefused(f"`{' '.join(command)}` says: {said[-1] if said else done.returncode}")


def _quoted(part: str) -> str:
    """One word of a unit's command line: `%` and `$` mean something there."""
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(each in part for each in " \t'\"\\") else escaped
