"""What every row of the table of operations must have, so that a mistake is named here and not found by a client."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, get_args, get_type_hints

from cronty.contract.answers import Answer
from cronty.contract.codes import CODES
from cronty.contract.operation import Operation
from cronty.contract.operations import ALL
from cronty.contract.requests import Request
from cronty.mcp.table import GROUPS


def classes_in(hint: object) -> set[type]:
    """The answers that a type is made of, their parts too."""
    if isinstance(hint, type) and is_dataclass(hint):
        parts = get_type_hints(hint)
        return {hint}.union(*(classes_in(parts[one.name]) for one in fields(hint)))
    return set[type]().union(*(classes_in(part) for part in get_args(hint)))


def flaws(operations: Iterable[Operation[..., Any, Any]]) -> list[str]:
    found: list[str] = []
    for one in operations:
        shown = sorted(kind.__name__ for kind in classes_in(one.answer) if "EXAMPLE" not in vars(kind))
        found += [f"{one.name}: its answer {name} needs an EXAMPLE, which /openapi.json shows" for name in shown]
        if one.tool and one.group not in GROUPS:
            found.append(f"{one.name}: MCP has no tools of the group {one.group}; say tool=False, or add it to GROUPS")
        if one.fields and not one.example:
            found.append(f"{one.name}: its request needs an EXAMPLE")
        found += [f"{one.name}: {name} needs a docstring" for name in one.fields if not one.meaning_of(name)]
        found += [f"{one.name}: there is no code {code}" for code in one.refusals if code not in CODES]
    return found


def test_every_operation_can_be_shown_and_called_everywhere() -> None:
    assert flaws(ALL.values()) == []


class Whisper(Request):
    """Say something to nobody."""

    word: str


class Part(Answer):
    """A part of an answer."""

    word: str


class Whispered(Answer):
    """What was said."""

    EXAMPLE: ClassVar = {"parts": [{"word": "hush"}]}

    parts: list[Part]


def test_what_is_missing_is_said_plainly() -> None:
    whisper = Operation(
        Whisper, Whispered, "POST", "/whisper", title="Whisper", group="owner", scope=None, refusals=("too_loud",)
    )
    whisper.__set_name__(object, "whisper")
    assert flaws([whisper]) == [
        "whisper: its answer Part needs an EXAMPLE, which /openapi.json shows",
        "whisper: MCP has no tools of the group owner; say tool=False, or add it to GROUPS",
        "whisper: its request needs an EXAMPLE",
        "whisper: word needs a docstring",
        "whisper: there is no code too_loud",
    ]
