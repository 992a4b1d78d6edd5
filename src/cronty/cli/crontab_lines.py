"""Reads a crontab: each line becomes a command with its schedule, or is refused with the reason.

The rules are those of Vixie cron and its successors: settings apply to the lines below them, the first `%` ends the
command and begins its standard input, `~` is a random number in a range. That number is computed from the line itself,
so that reading the file again gives the same one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from cronty.actions.shell import SHELL, Declared
from cronty.cli.output import counted
from cronty.timing import BadTrigger, Cron, zone

_SETTING: Final = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*)""")
_FIELD_LIKE: Final = re.compile(r"[*?]|(?:[*?]|[0-9]+)[0-9*?/,#LW-]*|(?:SUN|MON|TUE|WED|THU|FRI|SAT)[A-Z0-9,#-]*")
_DRAWN: Final = re.compile(r"([0-9]*)~([0-9]*)(?:/([0-9]+))?")
_BOUNDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES: Final = ("minute", "hour", "day-of-month", "month", "day-of-week")


@dataclass(frozen=True, slots=True)
class Planned:
    """A line that can be scheduled."""

    number: int
    text: str
    trigger: Cron
    command: Declared
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that can't, and what to do about it."""

    number: int
    text: str
    why: str


@dataclass(slots=True)
class _Reader:
    """`users`: None if lines have no user field, else the users we may run as. `is_user`: whether a user exists."""

    zone: str
    users: frozenset[str] | None
    is_user: Callable[[str], bool]
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, number: int, text: str) -> Planned | Refusal | None:
        line = text.strip().removeprefix("-") if text.strip().startswith("-*") else text.strip()
        if not line or line.startswith("#"):
            return None
        try:
            setting = None if line[0] in "*@~0123456789" else _SETTING.fullmatch(line)
            if setting is not None:
                return self._set(setting[2], setting[3].strip())
            return self._planned(number, text.strip(), line)
        except _Wrong as wrong:
            return Refusal(number, text.strip(), str(wrong))

    def _set(self, name: str, value: str) -> None:
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if name != "CRON_TZ":
            self.environment[name] = value
            return
        try:
            self.zone = zone(value).key
        except BadTrigger as bad:
            raise _Wrong(f"{bad.message}. {bad.hint} The lines below it are read in {self.zone}.") from None

    def _planned(self, number: int, text: str, line: str) -> Planned:
        count = 1 if line.startswith("@") else 5
        parts = line.split(None, count)
        if len(parts) <= count:
            raise _Wrong(f"it has {counted(len(parts), 'field')} and no command; cron needs five fields and a command.")
        *fields, rest = parts
        if fields[0].lower() == "@reboot":
            raise _Wrong("@reboot isn't a time. Start it with the machine instead: a systemd unit, or launchd.")
        rest = self._without_user(rest)
        self._check_sixth(fields, rest)
        drawn = [_draw(at, part, line) for at, part in enumerate(fields)] if count == 5 else fields
        expression = " ".join(drawn)
        try:
            trigger = Cron(expression, self.zone)
        except BadTrigger as bad:
            raise _Wrong(f"{bad.message}. {bad.hint}") from None
        note = f"~ drawn: {expression}" if drawn != fields else None
        return Planned(number, text, trigger, self._command(rest), note)

    def _without_user(self, rest: str) -> str:
        if self.users is None:
            return rest
        user, _, command = rest.partition(" ") if "\t" not in rest.split(" ", 1)[0] else rest.partition("\t")
        if not command.strip():
            raise _Wrong("it has no command after the user. Lines of a user's own crontab: leave out --system.")
        if user not in self.users:
            raise _Wrong(f"it runs as {user}, and this is {', '.join(sorted(self.users))}. Import it as {user}.")
        return command.strip()

    def _check_sixth(self, fields: list[str], rest: str) -> None:
        word, _, more = rest.partition(" ")
        if len(fields) == 5 and more and _FIELD_LIKE.fullmatch(word.upper()):
            raise _Wrong(
                f'it has six fields before the command, "{word}" being the sixth; cron has no seconds and no years. '
                f'Leave one out, as in "{" ".join([*fields[1:], word])}".'
            )
        if self.users is None and more and len(fields) == 5 and self.is_user(word):
            raise _Wrong(f'"{word}" is a user here: if this is a system crontab, use --system.')

    def _command(self, rest: str) -> Declared:
        command, stdin = split_percent(rest)
        if not command.strip():
            raise _Wrong("its command is empty: everything after the first % is the command's standard input.")
        environment = {name: value for name, value in self.environment.items() if name != "SHELL"}
        return Declared(
            command.strip(), self.environment.get("SHELL", SHELL), stdin, environment.get("HOME"), environment
        )


class _Wrong(Exception):
    """Why a line is refused."""


def read_crontab(
    text: str, zone_name: str, users: frozenset[str] | None = None, is_user: Callable[[str], bool] = lambda _: False
) -> Iterator[Planned | Refusal]:
    """Every line with a command, in order."""
    reader = _Reader(zone_name, users, is_user)
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        found = reader.read(number, line)
        if found is not None:
            yield found


def split_percent(text: str) -> tuple[str, str | None]:
    r"""The command and its standard input: the first `%` begins it, further ones are newlines in it, `\%` is a `%`."""
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", text)]
    return parts[0], "\n".join(parts[1:]) if len(parts) > 1 else None


def joined_percent(command: Declared) -> str:
    """The inverse of `split_percent`."""
    parts = [command.run, *([] if command.stdin is None else command.stdin.split("\n"))]
    return "%".join(part.replace("%", "\\%") for part in parts)


def settings_of(command: Declared) -> Mapping[str, str]:
    """The settings that a line with this command needs above it."""
    return {**command.environment, **({"SHELL": command.shell} if command.shell != SHELL else {})}


def _draw(at: int, part: str, line: str) -> str:
    """The field with a number in place of each `~`."""
    items = part.split(",")
    for place, item in enumerate(items):
        if "~" not in item:
            continue
        found = _DRAWN.fullmatch(item)
        low, high = _BOUNDS[at]
        first = int(found[1] or low) if found else high + 1
        final = int(found[2] or high) if found else low
        if not low <= first <= final <= high:
            raise _Wrong(f'{_NAMES[at]}: "{item}" is not a valid range; "{low}~{high}" is.')
        step = int(found[3]) if found and found[3] else 0
        chosen = first + crc32(f"{line} {at} {place}".encode()) % (min(step, final - first + 1) or final - first + 1)
        items[place] = f"{chosen}-{final}/{step}" if step else str(chosen)
    return ",".join(items)
