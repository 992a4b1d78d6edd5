"""Channels from the command line: named, listed, tried out, removed; the URL never on the screen."""

import asyncio
from pathlib import Path

from cronty.store.sealing import Sealer, new_key
from tests.actions.servers import answer, plain
from tests.cli.forked import Said, run
from tests.cli.test_commands import NOWHERE, cronty
from tests.clients.serving import environment

CANARY = "Canary7Secret"
PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')


async def told(stdin: str, *arguments: str, settings: dict[str, str]) -> Said:
    """Run `cronty` with these settings, and something on its standard input."""
    return await run(arguments, environment(**settings), stdin=stdin)


async def channel(*arguments: str, settings: dict[str, str]) -> Said:
    return await told("", "channel", *arguments, settings=settings)


async def test_a_channel_is_added_listed_tried_out_and_removed(url: str) -> None:
    async with plain(PUBLISHED) as server:
        given = {"database_url": url, "secret_key": new_key(), "allowed_hosts": server.allowed, "log_level": "DEBUG"}
        empty = await channel("list", settings=given)
        assert empty == Said(0, "There are no channels yet. Add one: cronty channel add phone\n", "")
        secret = f"ntfy://tk_{CANARY}@{server.allowed}/{CANARY}"
        added = await told(secret + "\n", "channel", "add", "phone", settings=given)
        assert added == Said(0, "Added phone: ntfy at 127.0.0.1. Try it: cronty channel test phone\n", "")
        again, listed, tried = await asyncio.gather(
            channel("add", "phone", secret, settings=given),
            channel("list", settings=given),
            channel("test", "phone", settings=given),
        )
        assert again.out.startswith("Replaced phone: ntfy at 127.0.0.1.")
        assert listed.out.splitlines()[1].split()[:4] == ["phone", "ntfy", "at", "127.0.0.1"]
        assert max(map(len, listed.out.splitlines())) <= 80
        assert tried == Said(0, "Sent a message to phone.\n", "")
        assert len(server.received) == 1
        removed = await channel("remove", "phone", settings=given)
        assert (removed.code, removed.err) == (0, "")
        gone = await channel("test", "phone", settings=given)
    assert gone.code == 1
    assert gone.err == "cronty: Nothing arrived: Channel 'phone' was removed. Add it again, or send to another.\n"
    for said in (added, again, listed, tried, removed, gone):
        assert CANARY not in said.out + said.err


async def test_keys_are_made_and_changed(url: str) -> None:
    old, new = [said.out.strip() for said in await asyncio.gather(cronty("key"), cronty("key"))]
    assert Sealer.read(old).key_id != Sealer.read(new).key_id
    async with plain(PUBLISHED) as server:
        given = {"database_url": url, "allowed_hosts": server.allowed}
        await channel("add", "phone", f"ntfy://{server.allowed}/a", settings=given | {"secret_key": old})
        changed = await channel("reseal", settings=given | {"secret_key": f"{new},{old}"})
        assert changed == Said(0, "Encrypted again: 1. Every channel uses the first key now.\n", "")
        good, lost = await asyncio.gather(
            *(channel("test", "phone", settings=given | {"secret_key": key}) for key in (new, old))
        )
    assert (good.code, lost.code) == (0, 1)
    assert "It was sealed with a key that isn't in CRONTY_SECRET_KEY." in lost.err


async def test_without_a_key_or_with_a_wrong_one_it_says_how_to_make_one(url: str) -> None:
    given = {"database_url": url, "allowed_hosts": "127.0.0.1"}
    none, wrong = await asyncio.gather(
        channel("add", "phone", "ntfy://127.0.0.1/a", settings=given),
        channel("list", settings=given | {"secret_key": CANARY}),
    )
    assert (none.code, none.out) == (1, "")
    assert "`cronty key` prints a new one" in none.err
    assert (wrong.code, wrong.out) == (2, "")
    assert "must be the base64 of 32 random bytes" in wrong.err
    assert CANARY not in wrong.err
    assert "Traceback" not in wrong.err


async def test_what_is_refused_is_said_in_a_line_without_the_url(url: str) -> None:
    secret = f"mailtos://ann:{CANARY}@10.0.0.1?from=a@b.de"
    said, away = await asyncio.gather(
        *(
            told(secret, "channel", "add", "mail", settings={"database_url": where, "secret_key": new_key()})
            for where in (url, NOWHERE)
        )
    )
    assert (said.code, said.out) == (1, "")
    assert said.err == "cronty: Channel 'mail' wasn't saved: We don't call its host: it has a private address.\n"
    assert away.code == 2
    assert CANARY not in away.err


async def test_a_local_installation_needs_no_key_of_ones_own(tmp_path: Path) -> None:
    async with plain(PUBLISHED) as server:
        given = {"data_dir": str(tmp_path), "allowed_hosts": server.allowed}
        added = await channel("add", "phone", f"ntfy://{server.allowed}/a", settings=given)
        assert (added.code, added.err) == (0, "")
        assert (await channel("test", "phone", settings=given)).code == 0
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
