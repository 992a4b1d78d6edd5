"""Limits from the command line."""

import json
import re

import asyncpg

from tests.cli.test_commands import cronty


async def test_limits_are_shown_changed_and_taken_back(url: str, sql: asyncpg.Connection) -> None:
    shown = await cronty("limits", "show", "--owner", "ann", database_url=url)
    assert shown.code == 0, shown.err
    assert re.search(r"^jobs +10000 +0 *$", shown.out, re.MULTILINE)
    assert re.search(r"^concurrent_runs +none *$", shown.out, re.MULTILINE)
    await cronty("limits", "set", "jobs=7", "--owner", "ann", database_url=url)
    changed = await cronty("limits", "set", "alert=ann-phone", "--owner", "ann", "--json", database_url=url)
    assert json.loads(changed.out)["limits"]["jobs"] == 7, "what isn't named stays"
    assert json.loads(changed.out)["limits"]["alert"] == "ann-phone"
    back = await cronty("limits", "set", "jobs=", "--owner", "ann", "--json", database_url=url)
    assert json.loads(back.out)["limits"]["jobs"] == 10_000
    entries = await sql.fetch("select what, client ->> 'surface' from cronty.audit_unsealed order by id")
    assert [tuple(row) for row in entries] == [("limits changed", "cli")] * 3


async def test_what_is_no_limit_is_refused_in_a_line(url: str) -> None:
    unknown = await cronty("limits", "set", "job=7", database_url=url)
    assert (unknown.code, unknown.err.splitlines()[0].startswith("cronty: Unknown limit: 'job'.")) == (1, True)
    many = await cronty("limits", "set", "jobs=many", database_url=url)
    assert many.err == "cronty: Limit 'jobs' must be a number, 0 for none, not 'many'.\n"
    assert (await cronty("limits", "set", "jobs", database_url=url)).code == 2
