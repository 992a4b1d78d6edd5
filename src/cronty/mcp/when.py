"""The many ways models write a schedule, flat or nested, as objects or text: all become a type and its config."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

import orjson

from cronty.mcp.arguments import BadArguments

_UNITS: Final = ("seconds", "minutes", "hours", "days")
_ONCE: Final = ("run_at", "at", "datetime", "time", "date", "once")
_CRON: Final = ("expression", "cron", "cron_expression")
_WORDS: Final = ("text", "words", "schedule", "every", "interval")
_KEY: Final = {"once": "run_at", "cron": "expression", "words": "text"}
_ALIASES: Final = {
    **dict.fromkeys(_ONCE, "run_at"),
    **dict.fromkeys(_CRON, "expression"),
    **dict.fromkeys(_WORDS, "text"),
    **{unit[:-1]: unit for unit in _UNITS},
}
_ZONES: Final = frozenset({"timezone", "tz", "time_zone"})
FLAT: Final = frozenset((*_UNITS, "run_at", "expression", "cron", "every"))
"""Keys accepted beside `trigger_config` instead of inside it."""

_EXAMPLES: Final = (
    'once {"run_at": "2027-01-31T09:00:00+01:00"}, interval {"hours": 1}, cron {"expression": "30 9 * * MON-FRI"}, '
    'calendar {"rules": [{"times": ["09:00"], "days": [1, -1]}]}, words {"text": "every weekday at 8:30"}'
)


def tidy(arguments: Mapping[str, object]) -> dict[str, object]:
    """Arguments with one `trigger_type` and one `trigger_config`, if they contain a schedule."""
    given = dict(arguments)
    flat = {key: given.pop(key) for key in FLAT & given.keys()}
    config, kind = given.pop("trigger_config", None), given.pop("trigger_type", None)
    if config is None and not flat and kind is None:
        return given
    kind = str(kind).strip().lower() if kind is not None else None
    config = _object(config, kind)
    config = _plain({**flat, **config}, kind)
    for name in _ZONES & config.keys():
        zone_name = config.pop(name)
        given = {"timezone": zone_name, **{key: value for key, value in given.items() if value is not None}}
    kind = kind or _guess(config)
    if kind == "interval" and config.keys() == {"text"}:
        kind, config = "words", {"text": _with_every(str(config["text"]))}
    return {**given, "trigger_type": kind, "trigger_config": config}


def _object(config: object, kind: str | None) -> dict[str, object]:
    if config is None:
        return {}
    if isinstance(config, str):
        with suppress(orjson.JSONDecodeError):
            config = orjson.loads(config)
        if isinstance(config, str):
            return {_KEY.get(kind or "words", "text"): config}
    if isinstance(config, int | float) and kind == "interval":
        raise BadArguments(f'trigger_config is {config}, without a unit. Name it, as in {{"minutes": {config}}}.')
    if not isinstance(config, dict):
        raise BadArguments(f"trigger_config must be an object: {_EXAMPLES}.")
    return cast("dict[str, object]", config)


def _plain(config: Mapping[str, object], kind: str | None) -> dict[str, object]:
    """Without a nesting by type, with the names the door knows, numbers as numbers."""
    for name in ("once", "interval", "cron", "calendar", "words"):
        inner = config.get(name)
        if isinstance(inner, dict) and len(config) == 1:
            config = cast("dict[str, object]", inner)
            break
    plain: dict[str, object] = {}
    for key, value in config.items():
        if value is None or (key in ("type", "trigger_type", "kind") and value == kind):
            continue
        if key in ("week", "weeks") and isinstance(weeks := _number(value), int | float):
            plain["days"] = 7 * weeks
            continue
        name = _ALIASES.get(key, key)
        if key == "every" and isinstance(value, str):
            value = _with_every(value)
        plain[name] = _number(value) if name in _UNITS else value
    return plain


def _number(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value


def _guess(config: Mapping[str, object]) -> str:
    """The type, if the keys allow only one."""
    kinds = {_KIND_OF[key] for key in config if key in _KIND_OF}
    if len(kinds) != 1:
        raise BadArguments(f"trigger_type is required: one of {_EXAMPLES}.")
    return kinds.pop()


_KIND_OF: Final = {
    "run_at": "once",
    "expression": "cron",
    "rules": "calendar",
    "text": "words",
    **dict.fromkeys(_UNITS, "interval"),
}


def _with_every(text: str) -> str:
    return text if text.lower().startswith("every") else f"every {text}"
