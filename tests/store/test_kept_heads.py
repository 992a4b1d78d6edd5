"""Heads of the trail that are kept in files, out of the reach of whoever owns the database."""

from pathlib import Path

import asyncpg
import orjson
import pytest

from cronty.contract.caller import local_caller
from cronty.scheduler import Scheduler
from cronty.store.audit_store import AuditStore
from cronty.store.database import Database
from cronty.store.key_store import KeyStore
from cronty.store.owner_store import OwnerStore
from cronty.store.signing import Signer
from tests.conftest import add

pytestmark = pytest.mark.usefixtures("hands")

SIGNER = Signer([b"k" * 32])


@pytest.fixture
def trail(database: Database, tmp_path: Path) -> AuditStore:
    return AuditStore(database, SIGNER, tmp_path / "heads")


async def keep(trail: AuditStore) -> int:
    assert trail.kept is not None
    await trail.seal()
    return await trail.kept.keep()


async def flaws(trail: AuditStore) -> list[str]:
    return [f"{one.owner}: {one.why}" for one in await trail.verify()]


async def test_a_cut_end_and_a_new_chain_are_found_by_the_heads_that_were_kept(
    door: Scheduler, database: Database, trail: AuditStore, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    for _ in range(3):
        await add(door)
    await add(door, owner="bob")
    assert await keep(trail) == 2
    await add(door)
    assert await flaws(trail) == [], "it may grow"
    await sql.execute("alter table cronty.audit disable trigger only_grows")
    await sql.execute("delete from cronty.audit where number > 1")
    await sql.execute(
        "update cronty.audit_heads h set number = 1, hash = a.hash from cronty.audit a where a.owner_id = h.owner_id"
    )
    await sql.execute("alter table cronty.audit enable trigger only_grows")
    assert [one.why for one in await AuditStore(database, SIGNER).verify()] == [], "the database alone can't tell"
    [cut] = await flaws(trail)
    assert cut.startswith("ann: entries 2 to 3 are missing, which the head kept at ")
    assert cut.endswith("has: the end was cut off")
    for _ in range(3):
        await add(door)
    [rewritten] = await flaws(trail)
    assert rewritten.startswith("ann: entry 3 isn't the one that was kept at ")


async def test_only_what_has_moved_is_kept_again(door: Scheduler, trail: AuditStore, tmp_path: Path) -> None:
    await add(door)
    await add(door, owner="bob")
    assert await keep(trail) == 2
    await add(door, owner="bob")
    assert [await keep(trail), await keep(trail)] == [1, 0]
    [file] = (tmp_path / "heads").iterdir()
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert max(line["number"] for line in lines if line["owner_id"] == lines[0]["owner_id"]) == 1
    assert lines[-1]["number"] == 2


async def test_a_line_that_was_forged_is_named(door: Scheduler, trail: AuditStore, tmp_path: Path) -> None:
    await add(door)
    await keep(trail)
    [file] = (tmp_path / "heads").iterdir()
    line = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(line | {"number": 7}) + b"\nnonsense\n")
    found = await flaws(trail)
    assert [one.partition(" can't be trusted: ")[2] for one in found] == [
        "it was changed: it no longer has its signature",
        "it can't be read",
    ]


async def test_an_erased_owner_is_not_missed(database: Database, trail: AuditStore) -> None:
    await KeyStore(database).add(local_caller("bob"), "laptop", b"h" * 32, ["read"], None, None)
    await keep(trail)
    await OwnerStore(database).erase("bob")
    assert await flaws(trail) == []
