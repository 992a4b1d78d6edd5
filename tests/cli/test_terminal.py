"""What people see: no line wider than their terminal, whatever its width, and ids that are never cut."""

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.clients.serving import environment
from tests.patience import PATIENCE

# One process for all commands, because starting one takes longer than all of them.
COMMANDS = """
import sys
import typer
from cronty.cli.main import app

LONG = "Remind everybody in the office, kitchen and cellar that the fire drill is today, 消防訓練"
CRONTAB = sys.argv[1]
for words in [
    ["add", "every weekday at 8:30", LONG, "--notify", "ntfy:phone", "--zone", "Europe/Berlin"],
    ["add", "in 2h", "x", "--prompt"],
    ["import", "crontab", CRONTAB, "--zone", "Europe/Berlin"],
    ["import", "crontab", CRONTAB, "--dry-run"],
    ["list"], ["list", "-n", "1"], ["show", "1"], ["run", "1"], ["runs", "1"], ["runs"],
    ["why", "1", "2098-01-01 08:00"], ["pause", "1"], ["resume", "1"], ["list", "--status", "odd"],
    ["next", "every weekday at 8:30"], ["next", "30 2 * * *", "--zone", "Europe/Berlin", "-n", "200"],
    ["next", "03/04 at 9:00"], ["next", "evry day"], ["add", "blah", "x", "--prompt"], ["add", "in 2h"],
    ["show", "99"], ["doctor"], ["status"], ["down"], ["channel", "list"], ["token", "list"],
    ["token", "add", "a laptop with a rather long name"], ["token", "list"], ["audit", "verify"],
    ["export", "--as", "json"], ["migrate"], ["--help"], ["add", "--help"], ["import", "crontab", "--help"],
    ["inbox"], ["retry", "1"], ["retry", "--all"], ["why", "1"],
    ["edit", "1", "every weekday at 9:30", "--max-runs", "3"], ["list"], ["show", "1"], ["logs"],
    ["import", "json", CRONTAB], ["edit", "--help"], ["pause", "xyzzy"], ["-h"],
]:
    print("$ " + words[0], flush=True)
    try:
        app(words, standalone_mode=True)
    except SystemExit:
        pass
    sys.stdout.flush()
    sys.stderr.flush()
"""
NOT_OURS = ("{", "}", '"', "[", "]")  # JSON is for programs
WHOLE = ("audit", "token", "export")  # a hash or a key in two halves couldn't be copied


def seen(width: int, *arguments: str, **settings: str) -> str:
    """What a terminal of this width is sent."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    known = {name: value for name, value in environment(**settings).items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=known | {"TERM": "xterm"}
    )
    os.close(theirs)
    said = bytearray()
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(PATIENCE)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode(errors="replace")).replace("\r\n", "\n")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int, url: str, tmp_path: Path) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_text(
        "*/5 * * * * /usr/bin/php /var/www/a-rather-long-folder/cron.php --with-options >/dev/null 2>&1\n"
        "@reboot /usr/bin/screen -dmS irc irssi --home=/home/somebody/.irssi-with-a-long-name\n"
        "0 0 9 * * MON echo six fields\n"
    )
    said = seen(
        width, "-c", COMMANDS, str(crontab), database_url=url, data_dir=str(tmp_path / "data"),
        commands_file=str(tmp_path / "commands.toml"),
    )  # fmt: skip
    assert "Traceback" not in said
    parts = re.split(r"^\$ ", said, flags=re.MULTILINE)[1:]
    assert len(parts) == 46
    wide = [
        (part.split("\n", 1)[0], line)
        for part in parts
        for line in part.splitlines()
        if cell_len(line) > width and not part.startswith(WHOLE) and not line.strip().startswith(NOT_OURS)
    ]
    assert wide == []
    shown = next(part for part in parts if part.startswith("show\n"))
    assert re.search(r"job_1_\d{10}", shown), "an id is never cut"


def typed(answers: list[tuple[str, str]], *arguments: str, **settings: str) -> tuple[str, int]:
    """What a terminal of 80 columns is sent by a command whose questions somebody answers, and its exit code."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "cronty.cli.main", *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**settings) | {"TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    said = ""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk.decode(errors="replace")
            if answers and answers[0][0] in said:
                os.write(ours, f"{answers.pop(0)[1]}\n".encode())
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(PATIENCE)
    return said.replace("\r\n", "\n"), process.returncode


def test_what_may_mean_several_things_is_asked_on_a_terminal(url: str, tmp_path: Path) -> None:
    settings = {"database_url": url, "data_dir": str(tmp_path)}
    add = ("add", "every day at 5", "x", "--prompt", "--zone", "UTC")
    said, code = typed([("Which one is meant", "9"), ("from 1 to 2", "2")], *add, **settings)
    assert code == 0, said
    assert "That may mean several things:" in said
    assert "A number from 1 to 2, please." in said
    assert "x: At 05:00 every day, UTC" in said or "x: At 17:00 every day, UTC" in said
    assert typed([], *add[:2], "x", "--prompt", "--json", **settings)[1] == 3, "a program isn't asked"
    said, code = typed([("Is that meant?", "y")], "add", "every evening", "x", "--prompt", "--zone", "UTC", **settings)
    assert code == 0, said
    said, code = typed([("Which one is meant", "1")], "pause", "x", **settings)
    assert (code, "Paused x." in said) == (0, True), said
    said, code = typed([("When", "every day at 21:00")], "edit", "1", **settings)
    assert (code, "At 21:00 every day" in said, "[" in said) == (0, True, True), said
