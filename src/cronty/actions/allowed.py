"""Private hosts that an operator allows by name, and whom: `host`, `host:port`, or either with `@owner` after it."""

from collections.abc import Callable, Sequence
from re import compile as pattern
from typing import Final

EVERYBODY: Final = "*"
USUAL_PORTS: Final = frozenset({80, 443})

_ENTRY: Final = pattern(r"(\[[^\[\]/?#@]+\]|[^:\[\]/?#@]+)(?::([0-9]{1,5}))?(?:@(.+))?")


class AllowedHosts:
    """An entry without an owner is for what the operator has set up, and for the owner of the installation (`own`)."""

    def __init__(self, entries: Sequence[str], own: str, spell: Callable[[str], str]) -> None:
        """`spell` is the one way a host is compared in; it raises `ValueError` for what is none."""
        self._own = own
        self._entries = frozenset(_read(entry.strip(), spell) for entry in entries)

    def allow(self, host: str, port: int, owner: str | None) -> bool:
        """Whether it may be called for this owner; None is the operator."""
        whom = (owner, EVERYBODY, None) if owner == self._own else (owner, EVERYBODY)
        ports = (port, None) if port in USUAL_PORTS else (port,)
        return any((host, one, who) in self._entries for one in ports for who in whom)


def _read(entry: str, spell: Callable[[str], str]) -> tuple[str, int | None, str | None]:
    found = _ENTRY.fullmatch(entry)
    try:
        if not found:
            raise ValueError(entry)
        host = spell(found[1])
    except ValueError as wrong:
        raise ValueError(
            f"Can't allow {entry!r}: use a host or host:port, such as 'ntfy.internal:8080' or '[fd12::1]', and after "
            "it whom, such as '@ann' or '@*'; without, it is for the owner of the installation alone."
        ) from wrong
    return host, int(found[2]) if found[2] else None, found[3]
