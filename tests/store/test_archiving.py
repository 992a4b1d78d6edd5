"""Old months of the trail go into files: nothing is lost on the way, and what is changed afterwards is found."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import BinaryIO

import asyncpg
import pytest

from cronty.contract.result import Err, Ok
from cronty.scheduler import Scheduler
from cronty.store.archiving import Archived, Archiving
from cronty.store.audit_store import AuditStore
from cronty.store.chain import Link
from cronty.store.database import Connection, Database, StoreUnavailable, query
from cronty.store.month_file import MonthFile, read_months
from cronty.store.owner_store import OwnerStore
from cronty.store.signing import PublicKeys, Signer
from tests.conftest import HandClock, Hands, add

MARCH, APRIL, MAY = date(2027, 3, 1), date(2027, 4, 1), date(2027, 5, 1)
SIGNER = Signer([b"s" * 32])
OTHER = Signer([b"o" * 32])

pytestmark = pytest.mark.usefixtures("hands")  # a worker publishes what may be scheduled


@pytest.fixture
def trail(database: Database) -> AuditStore:
    return AuditStore(database, SIGNER)


async def said(trail: AuditStore, keys: PublicKeys | None = None) -> list[str]:
    return [f"{broken.owner}: {broken.why}" for broken in await trail.verify(keys=keys)]


@pytest.fixture
async def three_months(hands: Hands, door: Scheduler, trail: AuditStore, clock: HandClock) -> None:
    """Ann acts in March, April and May, three times each; Bob in March only, Cay in May only."""
    for month, others in ((3, ["bob"]), (4, list[str]()), (5, ["cay"])):
        clock.moment = datetime(2027, month, 10, 8, tzinfo=UTC)
        for owner in ["ann", *others]:
            for _ in range(3):
                await add(door, owner=owner)
        await trail.seal()


async def archive(trail: AuditStore, before: date, folder: Path) -> list[Archived]:
    done: list[Archived] = []
    for month in await trail.archiving.months(before):
        made = await trail.archiving.archive(month, folder)
        assert isinstance(made, Ok), made
        if made.value is not None:
            done.append(made.value)
    return done


def checked(*paths: Path, keys: PublicKeys | None = None) -> list[str]:
    return [why for _, file in read_months(paths, keys or SIGNER.public_keys) for why in file.broken]


def files(folder: Path) -> list[Path]:
    """Every one, also those that nobody should find."""
    return sorted(folder.iterdir())


async def months(sql: asyncpg.Connection) -> list[str]:
    rows = await sql.fetch("select distinct to_char(sealed_at, 'YYYY-MM') from cronty.audit order by 1")
    return [row[0] for row in rows]


@pytest.mark.usefixtures("three_months")
async def test_what_is_left_still_verifies_when_old_months_were_archived(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    whole = await trail.heads()
    done = await archive(trail, MAY, tmp_path)
    assert [(one.month, one.entries, one.owners) for one in done if one.entries] == [
        ("2027-03", 6, 2),
        ("2027-04", 3, 1),
    ]
    assert await months(sql) == ["2027-05"]
    assert await said(trail) == []
    assert [(head.owner, head.number, head.archived_through, head.archived_month) for head in await trail.heads()] == [
        ("ann", 9, 6, "2027-04"),
        ("bob", 3, 3, "2027-03"),
        ("cay", 3, None, None),
    ]
    assert [head.hash for head in await trail.heads()] == [head.hash for head in whole]
    for owner in ("ann", "bob", "cay"):
        await add(door, owner=owner)
    assert await said(trail) == [], "the chains go on"
    assert [head.number for head in await trail.heads()] == [10, 4, 4]
    assert await archive(trail, MAY, tmp_path) == [], "once"


@pytest.mark.usefixtures("three_months")
async def test_archived_months_hold_every_entry_and_join(trail: AuditStore, tmp_path: Path) -> None:
    before = [json.loads(line) async for line in trail.export()]
    done = [one for one in await archive(trail, MAY, tmp_path) if one.entries]
    lines = [json.loads(line) for one in done for line in one.path.read_bytes().splitlines()]
    kept = {(line["entry"]["owner_id"], line["entry"]["number"]): line for line in lines if line["kind"] == "entry"}
    left = [json.loads(line) async for line in trail.export()]
    assert len(kept) + len(left) == len(before)
    for entry in before:
        if line := kept.get((entry["owner_id"], entry["number"])):
            same = ("what", "job_id", "job_number", "actor", "client", "before", "after")
            assert [line["entry"][name] for name in same] == [entry[name] for name in same]
            assert (line["hash"], line["previous"]) == (entry["hash"], entry["previous"])
    read = read_months([one.path for one in done], PublicKeys.read([SIGNER.public_key]))
    assert [file.broken + await trail.archiving.joined(file) for _, file in read] == [[], []]
    assert (done[0].path.stat().st_mode & 0o077) == 0, "for its owner's eyes only"


@pytest.mark.usefixtures("three_months")
async def test_a_reader_is_told_that_older_entries_were_archived(
    door: Scheduler, trail: AuditStore, tmp_path: Path
) -> None:
    page = await trail.read("ann", 5)
    assert ([entry["number"] for entry in page.entries], page.archived_through) == ([9, 8, 7, 6, 5], None)
    await archive(trail, MAY, tmp_path)
    page = await trail.read("ann", 5)
    assert ([entry["number"] for entry in page.entries], page.archived_through) == ([9, 8, 7], 6)
    page = await trail.read("ann", 5, 7)
    assert ([entry["number"] for entry in page.entries], page.archived_through) == ([], 6)
    page = await trail.read("bob", 5)
    assert ([entry["number"] for entry in page.entries], page.archived_through) == ([], 3)
    await add(door, owner="bob")
    assert [entry["job_id"] for entry in (await trail.read("bob", 5)).entries] == [4]
    assert (await trail.read("nobody", 5)).archived_through is None


TAMPERED = {
    "an entry that is left": (
        "update cronty.audit set what = 'nothing' where owner_id = 1024 and number = 8",
        ["ann: entry 8 (nothing, 2027-05-10 08:00:00 UTC) was changed: it no longer has its hash"],
    ),
    "the first that is left, deleted": (
        "delete from cronty.audit where owner_id = 1024 and number = 7",
        ["ann: entry 7 is missing"],
    ),
    "the first that is left, with its hash": (
        """update cronty.audit set previous = '\\x00' where owner_id = 1024 and number = 7;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and number = 7""",
        [
            f"ann: entry {number} (created, 2027-05-10 08:00:00 UTC) doesn't follow the entry before it: that one was"
            " rewritten"
            for number in (7, 8)
        ],
    ),
    "an archived entry put back": (
        """insert into cronty.audit (owner_id, number, sealed_at, at, what, previous, hash)
        select owner_id, 3, sealed_at, at, 'a lie', previous, '' from cronty.audit where owner_id = 1024 and number = 7;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and number = 3""",
        ["ann: entry 3 (a lie, 2027-05-10 08:00:00 UTC) was archived before: it wasn't added by Cronty"],
    ),
    "everything that is left": (
        "delete from cronty.audit where owner_id = 1024",
        ["ann: entries 7 to 9 are missing: the end was cut off"],
    ),
    "a checkpoint's number": (
        "update cronty.audit_checkpoints set number = 5 where owner_id = 1024",
        [
            "ann: the checkpoint of 2027-04 can't be trusted: it was changed: it no longer has its signature",
            "ann: entry 6 is missing",
        ],
    ),
    "a checkpoint's month": (
        "update cronty.audit_checkpoints set month = '2027-03-01' where owner_id = 1024",
        ["ann: the checkpoint of 2027-03 can't be trusted: it was changed: it no longer has its signature"],
    ),
    "a checkpoint given to another owner": (
        "delete from cronty.audit_checkpoints where owner_id = 2048;"
        "update cronty.audit_checkpoints set owner_id = 2048 where owner_id = 1024",
        [
            "ann: entries 1 to 6 are missing",
            "bob: the checkpoint of 2027-04 can't be trusted: it was changed: it no longer has its signature",
            "bob: the head is before entry 6, which was archived: it was put back",
        ],
    ),
    "a checkpoint deleted": (
        "delete from cronty.audit_checkpoints where owner_id = 2048",
        ["bob: entries 1 to 3 are missing: the end was cut off"],
    ),
    "a head put back": (
        "update cronty.audit_heads set number = 2 where owner_id = 2048",
        ["bob: the head is before entry 3, which was archived: it was put back"],
    ),
    "a head rewritten": (
        "update cronty.audit_heads set hash = '\\x00' where owner_id = 2048",
        ["bob: entry 3, which was archived, isn't the one the chain ended with: it was rewritten"],
    ),
}


@pytest.mark.usefixtures("three_months")
@pytest.mark.parametrize("how", TAMPERED)
async def test_tampering_with_what_is_left_is_found_and_named(
    how: str, trail: AuditStore, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await archive(trail, MAY, tmp_path)
    statement, expected = TAMPERED[how]
    await sql.execute("set session_replication_role = replica")
    await sql.execute(statement)
    assert await said(trail) == expected


@pytest.mark.usefixtures("three_months")
async def test_a_checkpoint_that_others_signed_is_not_trusted(
    trail: AuditStore, database: Database, tmp_path: Path
) -> None:
    done = await archive(AuditStore(database, OTHER), MAY, tmp_path)
    unknown = f"it is signed with the key {OTHER.key_id}, which isn't one of those to be trusted"
    assert await said(trail) == [
        f"ann: the checkpoint of 2027-04 can't be trusted: {unknown}",
        f"bob: the checkpoint of 2027-03 can't be trusted: {unknown}",
    ]
    assert await said(AuditStore(database)) == await said(trail), "without a key none is"
    assert await said(trail, OTHER.public_keys) == []
    assert await said(AuditStore(database, Signer([b"s" * 32, b"o" * 32]))) == [], "an older key still opens"
    assert f"its end can't be trusted: {unknown}" in checked(done[-1].path)


def _swap(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new, 1)


def _without(*numbers: int) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(
        line for number, line in enumerate(content.splitlines(keepends=True)) if number not in numbers
    )


OTHER_END = "its end was written for another content"
# The file of March: its first line, three entries and a checkpoint of ann's, the same of bob's, its end.
FORGED: dict[str, tuple[Callable[[bytes], bytes], list[str]]] = {
    "an entry": (_swap(b'"created"', b'"deleted"'), [
        "owner 1024: entry 1 (deleted, 2027-03-10 08:00:00 UTC) was changed: it no longer has its hash", OTHER_END]),
    "an entry's hash": (_swap(b'"hash":"', b'"hash":"00'), ["line 2 can't be read"]),
    "an entry left out": (_without(2), [
        "owner 1024: entry 2 is missing", "owner 1024: its checkpoint is of other entries than those before it",
        OTHER_END]),
    "the last entry left out": (_without(3), [
        "owner 1024: its checkpoint is of other entries than those before it", OTHER_END]),
    "a checkpoint": (_swap(b'"count":3', b'"count":2'), [
        "owner 1024: its checkpoint can't be trusted: it was changed: it no longer has its signature",
        "owner 1024: its checkpoint is of other entries than those before it", OTHER_END]),
    "a checkpoint left out": (_without(4), ["owner 1024: its checkpoint is missing", OTHER_END]),
    "an owner left out": (_without(5, 6, 7, 8), [OTHER_END]),
    "the end cut off": (_without(9), ["its end is missing: it was cut off"]),
    "cut in a line": (lambda content: content[:-40], ["line 10 can't be read", "its end is missing: it was cut off"]),
    "something added": (lambda content: content + b"{}\n", ["there is more after its end"]),
    "another month": (_swap(b"2027-03", b"2027-04"), ["owner 1024: entry 1 was sealed in another month"]),
    "something else altogether": (lambda _: b"\xff\x00[1]\n[1]\n{}\n", ["line 1 can't be read"]),
    "empty": (lambda _: b"", ["its end is missing: it was cut off"]),
}  # fmt: skip


@pytest.mark.usefixtures("three_months")
async def test_tampering_with_a_file_is_found_and_named(trail: AuditStore, tmp_path: Path) -> None:
    [march] = [one.path for one in await archive(trail, APRIL, tmp_path) if one.month == "2027-03"]
    content = march.read_bytes()
    for how, (forge, expected) in FORGED.items():
        march.write_bytes(forge(content))
        found = checked(march)
        assert found[: len(expected)] == expected, how
        [(_, file)] = read_months([march], SIGNER.public_keys)
        if file.month == "2027-03":
            assert "it isn't the file that was archived: its digest is another" in await trail.archiving.joined(file)
    march.write_bytes(content)
    assert checked(march) == []


@pytest.mark.usefixtures("three_months")
async def test_files_must_join_each_other_and_the_database(
    trail: AuditStore, sql: asyncpg.Connection, clock: HandClock, door: Scheduler, tmp_path: Path
) -> None:
    clock.moment = datetime(2027, 6, 1, tzinfo=UTC)
    done = {one.month: one.path for one in await archive(trail, date(2027, 6, 1), tmp_path)}
    paths = [done["2027-03"], done["2027-04"], done["2027-05"]]
    assert checked(*reversed(paths)) == [], "in whatever order they are named"
    assert checked(paths[1], paths[2]) == [], "the first is believed"
    assert checked(paths[0], paths[2]) == ["owner 1024: entries 4 to 6 are missing"]
    assert checked(paths[0], paths[0]) != []

    async def joined(month: str) -> list[str]:
        [(_, file)] = read_months([done[month]], SIGNER.public_keys)
        return await trail.archiving.joined(file)

    assert [await joined(month) for month in ("2027-03", "2027-04", "2027-05")] == [[], [], []]
    await sql.execute("update cronty.audit_checkpoints set hash = '\\x00' where owner_id = 2048")
    assert await joined("2027-03") == ["owner 2048: the database's checkpoint is of another entry"]
    await sql.execute("update cronty.audit_checkpoints set month = '2027-04-01' where owner_id = 1024")
    assert await joined("2027-05") == ["owner 1024: the database's checkpoint is of an earlier month: it was put back"]
    await sql.execute("delete from cronty.audit_months where month = '2027-04-01'")
    assert await joined("2027-04") == ["the database doesn't say that 2027-04 was archived"]


STEPS = ["closed", "half a file", "written", "checkpoints stored", "dropped"]


@pytest.mark.usefixtures("three_months")
@pytest.mark.parametrize("step", STEPS)
async def test_an_archive_that_is_killed_loses_nothing_and_is_finished_by_the_next(
    step: str, trail: AuditStore, database: Database, sql: asyncpg.Connection, door: Scheduler, tmp_path: Path
) -> None:
    before = [json.loads(line) async for line in trail.export()]
    await archive(trail, MARCH, tmp_path)  # months in which there was nothing
    await _killed_after(step, database, sql, tmp_path)
    assert await said(trail) == []
    await add(door, owner="bob")
    assert await said(trail) == [], "acts go on"
    assert (await months(sql))[0] == ("2027-04" if step == "dropped" else "2027-03"), "dropped only with its file"
    await archive(trail, MAY, tmp_path)
    assert await said(trail) == []
    named = [path for path in files(tmp_path) if not path.name.startswith(".")]
    assert checked(*named) == []
    lines = [json.loads(line) for file in named for line in file.read_bytes().splitlines()]
    kept = [line["entry"] for line in lines if line["kind"] == "entry"]
    left = [json.loads(line) async for line in trail.export()]
    assert sorted((entry["owner_id"], entry["number"]) for entry in [*kept, *left]) == sorted(
        [*((entry["owner_id"], entry["number"]) for entry in before), (2048, 4)]
    )


async def _killed_after(step: str, database: Database, sql: asyncpg.Connection, folder: Path) -> None:
    """Go so far with March, and no further."""
    archiving = Archiving(database, SIGNER, patience=0)
    assert await archiving.close(MARCH)
    if step == "half a file":
        (folder / ".audit-2027-03.jsonl.half").write_bytes(b'{"kind":"month"')  # as a killed process leaves it
    if step in ("closed", "half a file"):
        return
    made = await write(archiving, folder)
    if step == "checkpoints stored":
        async with sql.transaction():
            await sql.execute("select from cronty.audit")  # as a backup does it
            assert isinstance(busy := await archiving.drop(MARCH, made), Err)
            assert busy.code == "busy"
        assert await sql.fetchval("select count(*) from cronty.audit_checkpoints") == 0, "taken back with the rest"
    if step == "dropped":
        assert await archiving.drop(MARCH, made) is None


async def write(archiving: Archiving, folder: Path) -> MonthFile:
    written = await archiving.write(MARCH, folder)
    assert isinstance(written, Ok)
    assert written.value is not None
    return written.value[1]


@pytest.mark.usefixtures("three_months")
async def test_two_archives_at_once_make_one(trail: AuditStore, database: Database, tmp_path: Path) -> None:
    others = AuditStore(database, SIGNER)
    done = await asyncio.gather(archive(trail, MAY, tmp_path), archive(others, MAY, tmp_path))
    assert {one.month for one in [*done[0], *done[1]]} >= {"2027-03", "2027-04"}
    assert await said(trail) == []
    assert checked(*files(tmp_path)) == []


@pytest.mark.usefixtures("three_months")
async def test_of_two_that_wrote_the_same_month_the_second_leaves_what_the_first_did(
    trail: AuditStore, database: Database, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await archive(trail, MARCH, tmp_path)
    first, second = trail.archiving, Archiving(database, SIGNER)
    assert await first.close(MARCH)
    assert await second.close(MARCH)
    mine, theirs = await write(first, tmp_path), await write(second, tmp_path)
    assert mine.digest == theirs.digest
    assert await first.drop(MARCH, mine) is None
    assert await second.drop(MARCH, theirs) is None
    assert await second.archive(MARCH, tmp_path) == Ok(None)
    assert await sql.fetchval("select count(*) from cronty.audit_checkpoints") == 2
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_one_that_is_overtaken_while_it_writes_leaves_it_to_the_other(
    trail: AuditStore, database: Database, tmp_path: Path
) -> None:
    await archive(trail, MARCH, tmp_path)
    first, second = trail.archiving, Archiving(database, SIGNER)
    assert await first.close(MARCH)
    mine = await write(first, tmp_path)
    slow = second._write  # pyright: ignore[reportPrivateUsage]

    async def overtaken(month: date, file: BinaryIO, signer: Signer) -> tuple[MonthFile, dict[int, Link]]:
        assert await first.drop(MARCH, mine) is None
        return await slow(month, file, signer)

    second._write = overtaken  # pyright: ignore[reportPrivateUsage]
    assert await second.write(MARCH, tmp_path) == Ok(None)
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_a_file_that_holds_something_else_is_not_overwritten(trail: AuditStore, tmp_path: Path) -> None:
    await archive(trail, MARCH, tmp_path)
    there = tmp_path / "audit-2027-03.jsonl"
    there.write_text("mine")
    refused = await trail.archiving.archive(MARCH, tmp_path)
    assert isinstance(refused, Err)
    assert refused.message == f"{there} holds something else"
    assert there.read_text() == "mine"
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_a_month_that_is_not_whole_is_not_dropped(
    trail: AuditStore, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await archive(trail, MARCH, tmp_path)
    await sql.execute("set session_replication_role = replica")
    await sql.execute("delete from cronty.audit where owner_id = 1024 and number = 2")
    refused = await trail.archiving.archive(MARCH, tmp_path)
    assert isinstance(refused, Err)
    assert refused.message == "2027-03 isn't whole: owner 1024: entry 2 is missing"
    assert (await months(sql))[0] == "2027-03"
    assert not (tmp_path / "audit-2027-03.jsonl").exists()


@pytest.mark.usefixtures("three_months")
async def test_a_month_that_is_not_over_stays(trail: AuditStore, tmp_path: Path) -> None:
    refused = await trail.archiving.archive(MAY, tmp_path)
    assert isinstance(refused, Err)
    assert refused.code == "not_over"


async def test_without_a_key_nothing_is_archived(database: Database, clock: HandClock, tmp_path: Path) -> None:
    clock.moment = datetime(2027, 6, 1, tzinfo=UTC)
    refused = await AuditStore(database).archiving.archive(MARCH, tmp_path)
    assert isinstance(refused, Err)
    assert refused.code == "no_key"


async def test_a_month_turns_while_acts_are_noted(
    door: Scheduler, trail: AuditStore, clock: HandClock, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    clock.moment = datetime(2027, 3, 31, 23, 59, 59, tzinfo=UTC)
    for owner in ("ann", "bob"):
        await add(door, owner=owner)
        await add(door, owner=owner)
    await trail.seal("ann")
    slow = sql.transaction()
    await slow.start()
    await sql.execute("insert into cronty.audit_unsealed (at, owner_id, what) values ($1, 1024, 'slow')", clock.moment)
    clock.advance(seconds=2)
    await asyncio.gather(*(add(door, owner=owner) for owner in ("ann", "bob") * 10), trail.seal(), trail.seal())
    await slow.commit()
    clock.advance(days=2)
    await trail.seal()
    rows = await sql.fetch(
        "select owner_id, min(number), max(number), to_char(sealed_at, 'MM') from cronty.audit"
        " group by 1, 4 order by 1, 4"
    )
    assert [tuple(row) for row in rows] == [(1024, 1, 2, "03"), (1024, 3, 13, "04"), (2048, 1, 12, "04")], (
        "an entry belongs to the month in which it was sealed, however old it is"
    )
    assert await sql.fetchval("select to_char(at, 'MM') from cronty.audit where what = 'slow'") == "03"
    await archive(trail, APRIL, tmp_path)
    assert await said(trail) == []


async def test_nothing_is_sealed_into_a_month_that_is_closed(
    door: Scheduler, trail: AuditStore, clock: HandClock, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await add(door)
    await trail.seal()
    clock.moment = datetime(2027, 4, 2, tzinfo=UTC)
    assert await trail.archiving.close(MARCH)
    clock.moment = datetime(2027, 3, 20, tzinfo=UTC)  # a new primary whose clock is behind
    await add(door)
    await add(door, owner="bob")
    await trail.seal()
    rows = await sql.fetch("select number, sealed_at from cronty.audit order by owner_id, number")
    first = datetime(2027, 4, 1, tzinfo=UTC)
    assert [tuple(row)[1] for row in rows][1:] == [first, first]
    clock.moment = datetime(2027, 4, 2, tzinfo=UTC)
    await archive(trail, APRIL, tmp_path)
    assert await said(trail) == []


async def test_an_owners_numbers_rise_with_the_time_of_sealing_also_if_the_clock_goes_back(
    door: Scheduler, trail: AuditStore, clock: HandClock, sql: asyncpg.Connection
) -> None:
    clock.moment = datetime(2027, 4, 1, tzinfo=UTC)
    await add(door)
    await trail.seal()
    clock.moment = datetime(2027, 3, 31, tzinfo=UTC)
    await add(door)
    await trail.seal()
    rows = await sql.fetch("select sealed_at from cronty.audit order by number")
    assert rows[0] == rows[1]


async def test_the_next_month_is_made_ahead(hands: Hands, clock: HandClock, sql: asyncpg.Connection) -> None:
    clock.moment = datetime(2031, 12, 31, tzinfo=UTC)
    await hands.store.make_partitions()
    for month in ("203112", "203201"):
        assert await sql.fetchval(f"select to_regclass('cronty.audit_{month}') is not null")


async def test_an_owner_is_erased_in_bounded_steps(
    door: Scheduler, trail: AuditStore, clock: HandClock, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    for month in (3, 4, 5):
        clock.moment = datetime(2027, month, 10, tzinfo=UTC)
        for owner in ("ann", "bob"):
            for _ in range(4):
                await add(door, owner=owner)
        await trail.seal()
    await archive(trail, APRIL, tmp_path)
    await add(door)
    await sql.execute("update cronty.owners set erasing_since = now() where id = 1024")
    erase = "select cronty.erase_audit(1024, 3)"
    assert [await sql.fetchval(erase) for _ in range(5)] == [3, 3, 3, 0, 0]
    for table in ("audit", "audit_unsealed", "audit_heads", "audit_checkpoints"):
        assert await sql.fetchval(f"select count(*) from cronty.{table} where owner_id = 1024") == 0, table
    assert await said(trail) == []
    assert [(head.owner, head.number) for head in await trail.heads()] == [("bob", 12)]
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="only ever added to"):
        await sql.execute("delete from cronty.audit")
    [(_, march)] = read_months([tmp_path / "audit-2027-03.jsonl"], SIGNER.public_keys)
    assert march.broken + await trail.archiving.joined(march) == [], "a file outlives an owner"


@pytest.mark.usefixtures("three_months")
async def test_an_owner_erased_between_a_months_writing_and_its_drop_leaves_no_checkpoint(
    trail: AuditStore, database: Database, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await archive(trail, MARCH, tmp_path)
    archiving = trail.archiving
    assert await archiving.close(MARCH)
    made = await write(archiving, tmp_path)
    await OwnerStore(database).erase("ann")
    assert await archiving.drop(MARCH, made) is None
    assert await sql.fetchval("select array_agg(owner_id) from cronty.audit_checkpoints") == [2048]
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_the_installations_own_trail_keeps_its_checkpoint(
    trail: AuditStore, database: Database, sql: asyncpg.Connection, clock: HandClock, tmp_path: Path
) -> None:
    await OwnerStore(database).erase("cay")
    await trail.seal()
    clock.moment = datetime(2027, 6, 10, tzinfo=UTC)
    await archive(trail, date(2027, 6, 1), tmp_path)
    assert await sql.fetchval("select number from cronty.audit_checkpoints where owner_id = 0") == 1
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_an_owner_erased_while_checkpoints_are_stored_leaves_none(
    trail: AuditStore, database: Database, sql: asyncpg.Connection
) -> None:
    point = (MARCH, [1024, 2048], [3, 3], [b"x", b"x"], [3, 3], [b"x", b"x"], "k")
    async with sql.transaction():
        await sql.execute(query("save_checkpoints"), *point)
        erasing = asyncio.create_task(OwnerStore(database).erase("ann"))
        while not (erasing.done() or await sql.fetchval("select exists (select from pg_locks where not granted)")):
            await asyncio.sleep(0)
    assert await erasing is not None
    assert await sql.fetchval("select array_agg(owner_id) from cronty.audit_checkpoints") == [2048]


@pytest.mark.usefixtures("three_months")
async def test_a_half_erased_trail_is_no_tampering_and_holds_up_no_archive(
    trail: AuditStore, database: Database, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    assert await trail.being_erased() == []
    await sql.execute("update cronty.owners set erasing_since = now() where name = 'ann'")
    assert await trail.erase(1024, 2) == 2
    assert (await said(trail), await trail.being_erased()) == ([], ["ann"])
    assert (await trail.verify("ann"), await trail.being_erased("ann")) == ([], ["ann"])
    assert await trail.being_erased("bob") == []
    done = await archive(trail, MAY, tmp_path)
    assert [(one.month, one.entries, one.owners) for one in done if one.entries] == [("2027-03", 3, 1)]
    assert checked(*files(tmp_path)) == []
    assert await said(trail) == []
    assert [head.owner for head in await trail.heads()] == ["bob", "cay"]
    assert await OwnerStore(database).erase("ann") is not None
    assert (await said(trail), await trail.being_erased()) == ([], [])
    assert await sql.fetchval("select array_agg(owner_id) from cronty.audit_checkpoints") == [2048]


@pytest.mark.usefixtures("three_months")
async def test_an_owner_erased_while_its_month_is_written_holds_up_no_archive(
    trail: AuditStore, database: Database, tmp_path: Path
) -> None:
    await archive(trail, APRIL, tmp_path)
    archiving = trail.archiving
    slow = archiving._starts  # pyright: ignore[reportPrivateUsage]

    async def erased(connection: Connection, made: MonthFile) -> dict[int, Link]:
        assert await OwnerStore(database).erase("ann") is not None
        return await slow(connection, made)

    archiving._starts = erased  # pyright: ignore[reportPrivateUsage]
    archived = await archiving.archive(APRIL, tmp_path)
    assert isinstance(archived, Ok), archived
    assert await said(trail) == []


@pytest.mark.usefixtures("three_months")
async def test_an_export_left_open_does_not_hold_its_snapshot_for_ever(
    trail: AuditStore, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.store.archiving.LEFT_OPEN", "50ms")
    lines = trail.export()
    await anext(lines)
    left_open = "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    while await sql.fetch(left_open):
        await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        async for _ in lines:
            pass
