"""From what models send to what a tool takes: certain meanings are accepted, anything else gets a short sentence.

Models quote numbers, write lists and objects as JSON text, send null for what they leave out and mistype names.
Each parameter is held against the tool's own input schema, so that this is said once, for all tools.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

import orjson

type Schema = Mapping[str, Any]

_SENTENCE_END: Final = re.compile(r"(?<!e\.g)\. ")
_UNKEEPABLE: Final = re.compile("[\0\ud800-\udfff]")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_KINDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "string": "a text",
}
_MEMBERS: Final = {"string": " of texts", "object": " of objects"}


class BadArguments(ValueError):
    """What can't be understood, as a sentence for the model."""


def fit(schema: Schema, arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments as the schema has them; what is null counts as left out."""
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    fitted: dict[str, object] = {}
    for name, value in arguments.items():
        if name not in properties:
            raise BadArguments(_unknown(name, list(properties)))
        if value is not None:
            fitted[name] = _value(name, properties[name], value)
    for name in cast("list[str]", schema.get("required", [])):
        if name not in fitted:
            raise BadArguments(f"{name} is required: {_first_sentence(properties[name])}")
    return fitted


def _unknown(name: str, known: list[str]) -> str:
    shown = name if len(name) <= 80 else name[:79] + "…"
    near = [one for one in known if len(name) > 1 and (name in one or one in name)]
    near = near or get_close_matches(shown, known, 1, cutoff=0.7)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"Unknown parameter: {shown}.{meant} Known are: {', '.join(known) or 'none'}."


def _first_sentence(schema: Schema) -> str:
    text = str(schema.get("description", "it has no default"))
    end = _SENTENCE_END.search(text)
    return text if end is None else text[: end.start() + 1]


def _value(name: str, schema: Schema, value: object) -> object:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return value
    fitted = _as_kind(kind, schema, value)
    if fitted is None:
        raise BadArguments(
            f"{name} must be {_wanted(kind, schema)}, not {_shown(value)}. It is: {_first_sentence(schema)}"
        )
    if not _can_be_kept(fitted):
        raise BadArguments(f"{name} holds a NUL character or half a surrogate pair, which can't be kept. Leave it out.")
    choices = cast("list[str]", schema.get("enum", []))
    if choices and fitted not in choices:
        same = [choice for choice in choices if isinstance(fitted, str) and choice == fitted.strip().lower()]
        if not same:
            raise BadArguments(f"{name} is {_shown(value)}; use one of: {', '.join(map(str, choices))}.")
        fitted = same[0]
    return fitted


def _can_be_kept(value: object) -> bool:
    """Whether PostgreSQL would take a text, or each text of a list."""
    if isinstance(value, list):
        return all(_can_be_kept(member) for member in cast("list[object]", value))
    return not isinstance(value, str) or not _UNKEEPABLE.search(value)


def _wanted(kind: str, schema: Schema) -> str:
    members = _MEMBERS.get(str(cast("Schema", schema.get("items", {})).get("type")), "")
    return _KINDS[kind] + members


def _as_kind(kind: str, schema: Schema, value: object) -> object | None:
    """The value as this kind, or None if that isn't certain."""
    match kind:
        case "integer" | "number":
            return _number(kind, value)
        case "boolean":
            return _truth(value)
        case "array":
            return _list(schema, value)
        case "object":
            found = _parsed(value)
            return cast("object", found) if isinstance(found, dict) else None
        case _:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                return None
            return str(value)


def _number(kind: str, value: object) -> int | float | None:
    if isinstance(value, str):
        try:
            value = float(value) if any(mark in value for mark in ".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**53:
        return None
    if kind == "integer":
        return int(value) if value == int(value) else None
    return value


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if text in _TRUE else False if text in _FALSE else None


def _list(schema: Schema, value: object) -> list[object] | None:
    found = _parsed(value)
    items = cast("Schema", schema.get("items", {}))
    kind = items.get("type")
    if isinstance(found, list):
        members = cast("list[object]", found)
        if not isinstance(kind, str):
            return members
        fitted = [_as_kind(kind, items, member) for member in members]
        return None if None in fitted else cast("list[object]", fitted)
    if isinstance(found, dict) and kind == "object":
        return [cast("object", found)]
    if not isinstance(value, str) or kind != "string":
        return None
    return [part.strip() for part in value.split(",") if part.strip()]


def _parsed(value: object) -> object:
    """JSON that came as text; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _shown(value: object) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
