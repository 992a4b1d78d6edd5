"""What came of a run, in a line."""

from typing import Any, Final, cast

import orjson

LONGEST: Final = 500


def result_in_words(result: Any) -> str:
    """An agent's report as it is, text as text, anything else as JSON; a long one is cut."""
    if result is None:
        return ""
    if isinstance(result, dict):
        found = cast("dict[str, object]", result)
        if isinstance(found.get("report"), str):
            return _cut(str(found["report"]))
        if found.get("quiet") is True:
            return "nothing to report"
        if found.get("truncated") is True:
            return _cut(str(found.get("text", "")))
    return _cut(result if isinstance(result, str) else orjson.dumps(result).decode())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
