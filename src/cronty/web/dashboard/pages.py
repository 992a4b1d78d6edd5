"""Renders templates: everything is escaped, and an undefined name is an error."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cronty.jobs.action import Action
from cronty.jobs.ids import job_id_text
from cronty.jobs.moments import local_text
from cronty.timing import describe
from cronty.web.dashboard.assets import asset_url
from cronty.web.dashboard.formats import (
    ago,
    brief,
    clock_text,
    counted,
    cut,
    day_text,
    duration,
    first_line,
    hour_text,
    number,
    span,
    utc_beside,
    utc_text,
)
from cronty.web.dashboard.verdicts import LABELS, MEANINGS, STATUS_MARK


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(str(files("cronty.web.dashboard") / "templates"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    known = cast("dict[str, Any]", made.globals)  # pyright: ignore[reportUnknownMemberType]
    known |= {
        "asset": asset_url,
        "labels": LABELS,
        "meanings": MEANINGS,
        "status_mark": STATUS_MARK,
        "call": call_text,
        "describe": describe,
        "job_id_text": job_id_text,
    }
    filters = cast("dict[str, Any]", made.filters)
    filters |= {
        "ago": ago,
        "brief": brief,
        "clock": clock_text,
        "counted": counted,
        "cut": cut,
        "day": day_text,
        "duration": duration,
        "first_line": first_line,
        "hour": hour_text,
        "local": local_text,
        "number": number,
        "pretty": pretty,
        "span": span,
        "utc": utc_text,
        "utc_beside": utc_beside,
    }
    return made


def render(template: str, **facts: object) -> str:
    return environment().get_template(template).render(**facts)


def call_text(action: Action) -> str:
    """The call in one line: `run_backup("/data", compress=true)`."""
    parts = [orjson.dumps(value).decode() for value in action.args]
    parts += [f"{name}={orjson.dumps(value).decode()}" for name, value in action.kwargs.items()]
    return f"{action.task}({', '.join(parts)})"


def pretty(value: object) -> str:
    """Indented JSON. A text is parsed as JSON first."""
    if isinstance(value, str):
        value = orjson.loads(value)
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
