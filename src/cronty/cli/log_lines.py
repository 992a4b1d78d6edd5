"""Formats log records: one line each, whatever is in them, and of bounded length; as text or as JSON."""

import logging
from datetime import UTC, datetime
from typing import Final, override

import orjson

from cronty import tracing
from cronty.actions.current import running

LONGEST: Final = 4000
"""Characters of a line, or of the trace beside it in JSON."""


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    @override
    def format(self, record: logging.LogRecord) -> str:
        line, run = super().format(record), running()
        if run is not None and not record.name.startswith("cronty"):  # ours name the run themselves
            line += f" [{run.task} {run.run_id} attempt {run.attempt}]"
        return _on_one_line(line)


class JsonLines(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _on_one_line(record.getMessage()),
        }
        if (run := running()) is not None:
            line |= {"task": run.task, "run_id": run.run_id, "job": str(run.job_number), "attempt": str(run.attempt)}
        line |= tracing.ids_for_logs()
        if record.exc_info:
            line["trace"] = _bounded(self.formatException(record.exc_info)).encode(errors="replace").decode()
        return orjson.dumps(line).decode()


FORMATS: Final[dict[str, type[logging.Formatter]]] = {"text": TextLines, "json": JsonLines}


def _on_one_line(text: str) -> str:
    """A line break in a job's name or in an error must not begin a line that looks like one of ours."""
    text = _bounded(text)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _bounded(text: str) -> str:
    """The end of a long trace says most."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 4]} … {text[-LONGEST * 3 // 4 :]}"
