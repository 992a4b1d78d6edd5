"""Keys and tokens from the command line, and the trail they leave."""

import json
import re

import asyncpg
import jwt
import pytest

from tests.cli.test_commands import NOWHERE, cronty

SECRET = "s" * 32
HERE = "https://cronty.example.com/mcp"


async def test_a_key_is_made_shown_once_listed_and_revoked(url: str) -> None:
    none = await cronty("token", "list", "--owner", "ann", database_url=url)
    assert none.out == "ann has no keys yet. Make one: cronty token add laptop --owner ann\n"
    made = await cronty(
        *("token", "add", "laptop", "--owner", "ann", "--scope", "read", "--scope", "prompts"),
        *("--agent", "claude", "--expires-in", "30d"), database_url=url,
    )  # fmt: skip
    assert made.code == 0, made.err
    assert re.fullmatch(r"cronty_\d{1,19}_[A-Za-z0-9_-]{43}\n", made.out), (
        "nothing but the key, so that it can be piped"
    )
    assert re.fullmatch(r"Key 1 of ann, good until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. It is shown only once:\n", made.err)
    shown = await cronty("token", "list", "--owner", "ann", database_url=url)
    assert re.search(r"^1 +laptop +read, prompts +claude +never +good until \d{4}", shown.out, re.MULTILINE)
    assert max(map(len, shown.out.splitlines())) <= 80
    assert made.out.strip().rsplit("_", 1)[1] not in shown.out
    assert (await cronty("token", "revoke", "1", database_url=url)).err == (
        "cronty: Key not found: 1. It may be revoked already.\n"
    )
    revoked = await cronty("token", "revoke", "1", "--owner", "ann", database_url=url)
    assert revoked.out == "Revoked key 1. The jobs it made are paused.\n"
    shown = await cronty("token", "list", "--owner", "ann", database_url=url)
    assert re.search(r"^1 .* revoked \d{4}", shown.out, re.MULTILINE)


async def test_a_token_is_issued_for_an_email(url: str) -> None:
    command = ("token", "issue", "--email", "ann@example.com", "--expires-in", "12h")
    made = await cronty(*command, database_url=url, jwt_secret=SECRET, public_url=HERE)
    assert made.code == 0, made.err
    claims = jwt.decode(made.out.strip(), SECRET.encode().ljust(128, b"\0"), ["HS512"], audience=HERE, issuer="cronty")
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("ann@example.com", 12 * 3600)
    assert claims["scope"] == "read schedule run prompts agenda admin"
    assert "can't be revoked" in (await cronty("token", "issue", "--help")).out


@pytest.mark.parametrize(
    ("command", "secret", "code", "text"),
    [
        (["issue", "--email", "a@b", "--expires-in", "soon"], "", 2, "'soon' isn't a length of time: use 30d, 12h or"),
        (["issue", "--email", "a@b", "--expires-in", "0d"], "", 2, "'0d' isn't a length of time"),
        (["add", "x", "--scope", "everything"], "", 1, "Unknown scope: everything. Use any of: read, schedule, run, "),
        (["issue", "--email", "a@b", "--expires-in", "1d"], "", 1, "Set CRONTY_JWT_SECRET (cronty key makes one)"),
        (
            ["issue", "--email", "a@b", "--expires-in", "1d"], "hunter2-hunter2", 2,
            "cronty: CRONTY_JWT_SECRET has 15 bytes; with fewer than 32 the tokens it signs could be forged. "
            "`cronty key` prints a good one.",
        ),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_said_in_a_line(url: str, command: list[str], secret: str, code: int, text: str) -> None:
    said = await (
        cronty("token", *command, database_url=url, jwt_secret=secret)
        if secret
        else cronty("token", *command, database_url=url)
    )
    assert said.code == code
    assert text in " ".join(said.err.replace("│", " ").split())
    assert "hunter2" not in said.err + said.out
    assert said.out == ""


async def test_a_server_with_a_weak_secret_does_not_start(url: str) -> None:
    said = await cronty("serve", "--auth", "--port", "1", database_url=url, jwt_secret="short")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("cronty: CRONTY_JWT_SECRET has 5 bytes;")


async def test_the_trail_is_verified_and_exported(url: str, sql: asyncpg.Connection) -> None:
    assert (await cronty("audit", "verify", database_url=url)).out == "There are no entries.\n"
    for owner in ("ann", "ann", "bob"):
        await cronty("token", "add", "laptop", "--owner", owner, database_url=url)
    whole = await cronty("audit", "verify", database_url=url)
    assert re.fullmatch(r"whole  ann  2:[0-9a-f]{64}\nwhole  bob  1:[0-9a-f]{64}\n", whole.out)
    assert (whole.code, whole.err) == (0, "")
    exported = await cronty("audit", "export", "--owner", "ann", database_url=url)
    lines = [json.loads(line) for line in exported.out.splitlines()]
    assert [(line["number"], line["what"], line["client"]) for line in lines] == [
        (1, "key added", {"surface": "cli"}), (2, "key added", {"surface": "cli"})
    ]  # fmt: skip
    assert (await cronty("audit", "export", "--since", "2999-01-01", database_url=url)).out == ""
    assert (await cronty("audit", "export", "--since", "yesterday-ish", database_url=url)).code == 2
    kept = whole.out.split()[2]
    assert (await cronty("audit", "verify", "--owner", "ann", "--head", kept, database_url=url)).code == 0
    other = await cronty("audit", "verify", "--owner", "ann", "--head", f"2:{'0' * 64}", database_url=url)
    assert (other.code, other.err) == (1, "broken  ann: entry 2 isn't the one you saved: the chain was rewritten.\n")
    await sql.execute("set session_replication_role = replica")
    await sql.execute("delete from cronty.audit where owner_id = 1024 and number = 1")
    broken = await cronty("audit", "verify", database_url=url)
    assert (broken.code, broken.err) == (1, "broken  ann: entry 1 is missing.\n")


async def test_a_database_that_is_away_is_said_in_a_line() -> None:
    for command in (("audit", "verify"), ("token", "list")):
        said = await cronty(*command, database_url=NOWHERE)
        assert said.code == 2
        assert said.err.startswith("cronty: PostgreSQL can't be reached")
