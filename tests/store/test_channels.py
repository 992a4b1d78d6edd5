"""The door of channels: named once, never shown, one owner's never another's."""

from collections.abc import AsyncGenerator

import asyncpg
import pytest

from cronty.actions.courier import Courier
from cronty.actions.notify import Notify, Token
from cronty.actions.outbound import Outbound
from cronty.actions.tasks import PermanentError
from cronty.contract.caller import local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler import Scheduler
from cronty.scheduler.channels import TEST_MESSAGE, Channels
from cronty.store.channel_store import MAX_CHANNELS, MAX_NAMES, ChannelStore, Destination
from cronty.store.database import Database
from cronty.store.sealing import Sealer, new_key
from tests.actions.servers import Plain, answer, plain
from tests.conftest import Hands, add

CANARY = "Canary7Secret"
PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')


@pytest.fixture
async def server() -> AsyncGenerator[Plain]:
    async with plain(PUBLISHED) as running:
        yield running


@pytest.fixture
async def courier(server: Plain) -> AsyncGenerator[Courier]:
    outbound = Outbound([f"{server.allowed}@*"])
    yield Courier(outbound)
    await outbound.aclose()


@pytest.fixture
def channels(database: Database, courier: Courier) -> Channels:
    return Channels(ChannelStore(database, Sealer.read(new_key())), courier, Notify(Outbound()))


def value[T](result: Result[T]) -> T:
    assert isinstance(result, Ok), result
    return result.value


async def test_a_channel_is_listed_without_its_url(channels: Channels, server: Plain, sql: asyncpg.Connection) -> None:
    url = f"ntfy://tk_{CANARY}@{server.allowed}/{CANARY}"
    added = value(await channels.add(local_caller("ann"), "phone", f" {url}\n"))
    assert (added.name, added.scheme, added.hint, added.replaced) == ("phone", "ntfy", "ntfy at 127.0.0.1", False)
    listed = value(await channels.list(local_caller("ann")))
    assert [(one.name, one.hint) for one in listed] == [("phone", "ntfy at 127.0.0.1")]
    assert await channels.url(local_caller("ann"), "phone") == url
    assert CANARY not in repr(added) + repr(listed) + repr(Destination("phone", url))
    rows = await sql.fetch("select * from cronty.channels")
    assert CANARY not in repr(rows)
    assert CANARY.encode() not in rows[0]["sealed"]


async def test_a_test_message_arrives(channels: Channels, server: Plain) -> None:
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/secret-topic"))
    facts = value(await channels.test(local_caller("ann"), "phone"))
    assert facts == {"id": "sPs71M8A2T", "channel": "phone", "time": 1803888000}
    assert TEST_MESSAGE.encode() in server.received[0].body
    assert b"secret-topic" in server.received[0].body
    assert await channels.test(local_caller("bob"), "phone") == Err(
        "not_found", "There is no channel 'phone'.", "`cronty channel list` shows yours."
    )


@pytest.mark.parametrize("name", ["", "Phone", "a--b", "-a", "a b", "a\n", "ä", "x" * 65, "../a"])
async def test_a_name_is_letters_and_digits_with_single_dashes(channels: Channels, name: str) -> None:
    result = await channels.add(local_caller("ann"), name, "ntfy://ntfy.sh/a")
    assert isinstance(result, Err)
    assert result.code == "bad_name"


async def test_what_cannot_be_a_channel_is_answered_in_a_sentence_without_it(channels: Channels) -> None:
    result = await channels.add(local_caller("ann"), "phone", f"ntfy://tk_{CANARY}@10.0.0.1/{CANARY}")
    assert result == Err(
        "bad_channel", "Channel 'phone' wasn't saved: We don't call its host: it has a private address."
    )
    assert value(await channels.list(local_caller("ann"))) == []


async def test_a_service_that_is_always_on_gives_ntfy_nothing_ahead(channels: Channels, server: Plain) -> None:
    url = f"ntfy://{server.allowed}/hard-to-guess"
    refused = await channels.add(local_caller("ann"), "phone", url, ahead=True)
    assert isinstance(refused, Err)
    assert (refused.code, refused.field) == ("bad_channel", "ahead")
    saved = await channels.add(local_caller("ann"), "phone", url)
    assert isinstance(saved, Ok)
    assert not saved.value.ahead


async def test_two_owners_may_use_the_same_name_and_never_meet(channels: Channels, server: Plain) -> None:
    for owner in ("ann", "bob"):
        value(await channels.add(local_caller(owner), "phone", f"ntfy://{server.allowed}/of-{owner}"))
    assert await channels.url(local_caller("ann"), "phone") == f"ntfy://{server.allowed}/of-ann"
    assert await channels.url(local_caller("bob"), "phone") == f"ntfy://{server.allowed}/of-bob"
    value(await channels.remove(local_caller("ann"), "phone"))
    assert await channels.url(local_caller("bob"), "phone") == f"ntfy://{server.allowed}/of-bob"
    assert await channels.url(local_caller("eve"), "phone") is None
    assert value(await channels.list(local_caller("eve"))) == []
    assert isinstance(await channels.remove(local_caller("eve"), "phone"), Err)


async def test_a_row_that_is_copied_to_another_owner_or_name_does_not_open(
    channels: Channels, server: Plain, sql: asyncpg.Connection
) -> None:
    for owner, name in (("ann", "phone"), ("bob", "phone"), ("bob", "mail")):
        value(await channels.add(local_caller(owner), name, f"ntfy://{server.allowed}/of-{owner}"))
    await sql.execute(
        "update cronty.channels set sealed = (select c.sealed from cronty.channels c"
        " join cronty.owners o on o.id = c.owner_id where o.name = 'ann') where name in ('phone', 'mail')"
    )
    assert await channels.url(local_caller("ann"), "phone") == f"ntfy://{server.allowed}/of-ann"
    for name in ("phone", "mail"):
        with pytest.raises(PermanentError, match=r"can't be opened\. It was changed, or moved here"):
            await channels.url(local_caller("bob"), name)


async def test_the_channel_of_a_run_is_its_owners(
    channels: Channels, server: Plain, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    for owner in ("ann", "bob"):
        await add(door, owner=owner)
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/of-ann"))
    ids = {row["name"]: row["id"] for row in await sql.fetch("select name, id from cronty.owners")}
    assert await channels.url_of_id(ids["ann"], "phone") == f"ntfy://{server.allowed}/of-ann"
    assert await channels.url_of_id(ids["bob"], "phone") is None
    assert await channels.url_of_id(99, "phone") is None


async def test_a_removed_channel_loses_its_url_and_keeps_its_name(
    channels: Channels, server: Plain, sql: asyncpg.Connection
) -> None:
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/a"))
    value(await channels.remove(local_caller("ann"), "phone"))
    assert value(await channels.list(local_caller("ann"))) == []
    assert await sql.fetchval("select count(*) from cronty.channels where sealed is null and hint = ''") == 1
    with pytest.raises(PermanentError, match="Channel 'phone' was removed"):
        await channels.url(local_caller("ann"), "phone")
    assert isinstance(await channels.remove(local_caller("ann"), "phone"), Err)
    back = value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/b"))
    assert not back.replaced
    assert await channels.url(local_caller("ann"), "phone") == f"ntfy://{server.allowed}/b"


async def test_adding_a_name_again_replaces_it(channels: Channels, server: Plain) -> None:
    for topic in ("a", "b"):
        saved = value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/{topic}"))
    assert saved.replaced  # pyright: ignore[reportPossiblyUnboundVariable]
    assert await channels.url(local_caller("ann"), "phone") == f"ntfy://{server.allowed}/b"


async def add_many(sql: asyncpg.Connection, first: int, last: int) -> None:
    """More channels like the one there is."""
    await sql.execute(
        "insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at)"
        " select owner_id, 'c' || i, scheme, hint, key_id, sealed, now()"
        f" from cronty.channels, generate_series({first}, {last}) i where name = 'first'"
    )


async def test_an_owner_has_so_many_and_no_more(channels: Channels, server: Plain, sql: asyncpg.Connection) -> None:
    url = f"ntfy://{server.allowed}/a"
    value(await channels.add(local_caller("ann"), "first", url))
    await add_many(sql, 2, MAX_CHANNELS)
    result = await channels.add(local_caller("ann"), "one-more", url)
    assert isinstance(result, Err)
    assert result.code == "too_many_channels"
    assert value(await channels.add(local_caller("ann"), "first", url)).replaced
    value(await channels.add(local_caller("bob"), "one-more", url))


async def test_removed_channels_make_room_for_others_up_to_so_many_names(
    channels: Channels, server: Plain, sql: asyncpg.Connection
) -> None:
    url = f"ntfy://{server.allowed}/a"
    value(await channels.add(local_caller("ann"), "first", url))
    await add_many(sql, 2, MAX_NAMES)
    await sql.execute("update cronty.channels set sealed = null, key_id = null, removed_at = now() where name <> 'c2'")
    refused = await channels.add(local_caller("ann"), "one-more", url)
    assert isinstance(refused, Err)
    assert refused.code == "too_many_channels"
    assert value(await channels.add(local_caller("ann"), "c3", url)).name == "c3"
    await sql.execute("delete from cronty.channels where name > 'c5'")
    assert value(await channels.add(local_caller("ann"), "one-more", url)).name == "one-more"


# -- keys -------------------------------------------------------------------------------------------------------


async def test_without_a_key_it_says_how_to_make_one_and_sends_nothing_elsewhere(
    channels: Channels, server: Plain, database: Database, courier: Courier
) -> None:
    keyless = Channels(ChannelStore(database, None), courier, Notify(Outbound()))
    refused = await keyless.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/a")
    assert isinstance(refused, Err)
    assert refused.code == "no_key"
    assert "`cronty key` prints a new one" in refused.message
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/a"))
    assert await keyless.url(local_caller("ann"), "never-a-channel") is None
    with pytest.raises(PermanentError, match="Channel 'phone' can't be used"):
        await keyless.url(local_caller("ann"), "phone")
    assert len(value(await keyless.list(local_caller("ann")))) == 1
    assert isinstance(await keyless.test(local_caller("ann"), "phone"), Err)


async def test_keys_are_changed_without_anybody_noticing(
    server: Plain, database: Database, courier: Courier, sql: asyncpg.Connection
) -> None:
    old, new = new_key(), new_key()

    def door(keys: str) -> Channels:
        return Channels(ChannelStore(database, Sealer.read(keys)), courier, Notify(Outbound()))

    for owner in ("ann", "bob", "cyd"):
        value(await door(old).add(local_caller(owner), "phone", f"ntfy://{server.allowed}/of-{owner}"))
    value(await door(old).remove(local_caller("cyd"), "phone"))
    lost = await door(new).reseal()
    assert isinstance(lost, Err)
    assert lost.message == "0 channels are encrypted with the first key now; 2 can't be opened by any key given."
    assert value(await door(f"{new},{old}").reseal()) == 2
    assert value(await door(f"{new},{old}").reseal()) == 0
    assert await door(new).url(local_caller("bob"), "phone") == f"ntfy://{server.allowed}/of-bob"
    with pytest.raises(PermanentError, match="a key that isn't in CRONTY_SECRET_KEY"):
        await door(old).url(local_caller("bob"), "phone")


async def test_a_name_that_is_nearly_a_channels_is_refused_with_the_right_one(
    channels: Channels, server: Plain
) -> None:
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/hard-to-guess"))
    for wrong in ("phon", "phne", "phones", "my-phone"):
        refused = await channels.about(local_caller("ann"), [wrong])
        assert isinstance(refused, Err)
        assert refused.code == "unknown_channel"
        assert refused.message == f"There is no channel {wrong!r}. Did you mean 'phone'?"
    assert value(await channels.about(local_caller("ann"), ["phone"])) is None
    assert "public ntfy topic at ntfy.sh" in (value(await channels.about(local_caller("bob"), ["phon"])) or "")


async def test_a_removed_channel_is_neither_suggested_nor_called_a_public_topic(
    channels: Channels, server: Plain
) -> None:
    value(await channels.add(local_caller("ann"), "phone", f"ntfy://{server.allowed}/hard-to-guess"))
    value(await channels.remove(local_caller("ann"), "phone"))
    assert value(await channels.about(local_caller("ann"), ["phone"])) is None
    said = value(await channels.about(local_caller("ann"), ["phon"]))
    assert said == (
        "phon isn't a channel of yours but a public ntfy topic at ntfy.sh: everybody who knows its name can read it."
    )


async def test_a_topic_behind_the_operators_token_is_not_called_public(database: Database, courier: Courier) -> None:
    notify = Notify(Outbound(), token=Token("tk_secret", frozenset({"ann"})))
    guarded = Channels(ChannelStore(database, Sealer.read(new_key())), courier, notify)
    assert value(await guarded.about(local_caller("ann"), ["builds"])) is None
    assert value(await guarded.about(local_caller("bob"), ["builds"])) is not None
