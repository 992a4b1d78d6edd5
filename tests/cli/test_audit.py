"""Old months of the trail from the command line: archived, verified with and without the database."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from cronty.store.audit_store import AuditStore
from cronty.store.database import Database
from cronty.store.sealing import new_key
from tests.cli.test_commands import NOWHERE, cronty
from tests.conftest import HandClock

KEY = new_key()
MONTH = f"{datetime.now(UTC):%Y-%m}"


async def act(url: str, *owners: str) -> None:
    for owner in owners:
        assert (await cronty("token", "add", "laptop", "--owner", owner, database_url=url)).code == 0


async def some_months(url: str, database: Database, clock: HandClock) -> None:
    """Ann acts twice in January and once now, Bob only in January."""
    await act(url, "ann", "ann", "bob")
    clock.moment = datetime(2026, 1, 10, tzinfo=UTC)
    await AuditStore(database).seal()
    await act(url, "ann")


async def test_an_old_month_is_archived_and_the_rest_verifies(
    url: str, database: Database, clock: HandClock, tmp_path: Path
) -> None:
    await some_months(url, database, clock)
    made = await cronty(
        "audit", "archive", "--before", "2026-02", "--to", str(tmp_path), database_url=url, secret_key=KEY
    )
    file = tmp_path / "audit-2026-01.jsonl"
    assert (made.code, made.err) == (0, "")
    assert f"archived  2026-01  3  {file}\n" in made.out
    whole = await cronty("audit", "verify", database_url=url, secret_key=KEY)
    assert re.fullmatch(
        r"whole  ann  3:[0-9a-f]{64}  1 to 2 archived, 2026-01\nwhole  bob  1:[0-9a-f]{64}  1 to 1 archived, 2026-01\n",
        whole.out,
    )
    assert (whole.code, whole.err) == (0, "")
    other = await cronty("audit", "verify", database_url=url, secret_key=new_key())
    assert other.code == 1
    assert other.err.startswith("broken  ann: the checkpoint of 2026-01 can't be trusted: it is signed with the key ")
    exported = await cronty("audit", "export", database_url=url)
    assert [json.loads(line)["number"] for line in exported.out.splitlines()] == [3]
    assert exported.err == "Entries up to 2026-01 were archived: they are in the files of their months.\n"
    late = await cronty("audit", "export", "--since", "2026-02-01", database_url=url)
    assert late.err == "", "they weren't asked for"
    kept = re.findall(r"bob  (1:[0-9a-f]{64})", whole.out)[0]
    for owner, head, code in (("bob", kept, 0), ("bob", f"1:{'0' * 64}", 1), ("ann", f"1:{'0' * 64}", 1)):
        said = await cronty("audit", "verify", "--owner", owner, "--head", head, database_url=url, secret_key=KEY)
        assert said.code == code
    assert said.err == "cronty: Entry 1 was archived. Look for its hash in the file of its month.\n"
    again = await cronty(
        "audit", "archive", "--before", "2026-02", "--to", str(tmp_path), database_url=url, secret_key=KEY
    )
    assert again.out == "There is no month before 2026-02 in the database.\n"


async def test_an_archived_file_is_verified_by_anybody_who_has_the_public_key(
    url: str, database: Database, clock: HandClock, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await some_months(url, database, clock)
    made = await cronty(
        *("audit", "archive", "--before", "2026-02", "--to", str(tmp_path), "--json"), database_url=url, secret_key=KEY
    )
    [january] = [one for one in json.loads(made.out)["archived"] if one["entries"]]
    assert january == {"month": "2026-01", "path": str(tmp_path / "audit-2026-01.jsonl"), "entries": 3, "owners": 2}
    file = january["path"]
    public = (await cronty("audit", "key", database_url=url, secret_key=KEY)).out.strip()
    assert re.fullmatch(r"[\w-]{43}=", public)
    assert public not in KEY
    alone = await cronty("audit", "verify", file, "--public-key", public, database_url=NOWHERE)
    assert (alone.code, alone.out, alone.err) == (0, f"whole  2026-01  3  {file}\n", "")
    joined = await cronty("audit", "verify", file, "--json", database_url=url, secret_key=KEY)
    assert json.loads(joined.out) == {
        "whole": True, "broken": [], "files": [{"file": file, "month": "2026-01", "entries": 3, "owners": 2}]
    }  # fmt: skip
    bob = await sql.fetchval("select id from cronty.owners where name = 'bob'")
    await sql.execute("update cronty.audit_checkpoints set hash = '\\x00' where owner_id = $1", bob)
    apart = await cronty("audit", "verify", file, database_url=url, secret_key=KEY)
    assert (apart.code, apart.err) == (
        1,
        f"broken  {file}: owner {bob}: the database's checkpoint is of another entry.\n",
    )
    _forge(file)
    forged = await cronty("audit", "verify", file, "--public-key", public, database_url=NOWHERE)
    assert (forged.code, forged.out) == (1, f"broken  2026-01  3  {file}\n")
    assert forged.err.startswith(f"broken  {file}: owner 1024: entry 1 (key taken, ")


def _forge(file: str) -> None:
    path = Path(file)
    path.write_text(path.read_text().replace("key added", "key taken", 1))


async def test_what_is_wrong_is_said_in_a_line(url: str, tmp_path: Path) -> None:
    to = ("--to", str(tmp_path))
    assert (await cronty("audit", "archive", "--before", "then", *to, database_url=url)).code == 2
    early = await cronty("audit", "archive", "--before", "2999-01", *to, database_url=url, secret_key=KEY)
    assert (early.code, early.err) == (
        1, f"cronty: {MONTH} isn't over. Name the running month or an earlier one.\n"
    )  # fmt: skip
    for command in (("archive", "--before", MONTH, *to), ("key",)):
        said = await cronty("audit", *command, database_url=url)
        assert said.err.startswith("cronty: Checkpoints are signed, and there is no CRONTY_SECRET_KEY. `cronty key`")
    assert (await cronty("audit", "verify", "no-such-file", database_url=url)).code == 2
    mistaken = await cronty("audit", "verify", __file__, "--public-key", "x", database_url=NOWHERE)
    assert mistaken.code == 2


async def test_an_owner_whose_erasing_was_interrupted_is_named_and_not_checked(
    url: str, database: Database, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await some_months(url, database, clock)
    await sql.execute("update cronty.owners set erasing_since = now() where name = 'ann'")
    ann = await sql.fetchval("select id from cronty.owners where name = 'ann'")
    assert await AuditStore(database).erase(ann, 1) == 1
    said = await cronty("audit", "verify", database_url=url, secret_key=KEY)
    assert said.code == 0
    assert re.fullmatch(r"whole  bob  1:[0-9a-f]{64}\n", said.out)
    assert said.err == "ann is being erased: not checked. `cronty owner erase` finishes it.\n"
    kept = ("--owner", "ann", "--head", f"1:{'0' * 64}")
    alone = await cronty("audit", "verify", *kept, database_url=url, secret_key=KEY)
    assert alone.code == 1
    assert alone.err == "cronty: ann is being erased. Finish it with `cronty owner erase`.\n"
    shown = await cronty("audit", "verify", "--json", database_url=url, secret_key=KEY)
    assert json.loads(shown.out)["being_erased"] == ["ann"]
