"""Calls on their way: how each went is written down, whatever happens to the others."""

import asyncio

import pytest

from cronty.engine.sending import Sending
from cronty.store.database import StoreUnavailable


class Book:
    """Where it is written down, when it can be."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shut = False

    async def write(self, ended: list[str]) -> None:
        if self.shut:
            raise StoreUnavailable("the database is away")
        if "unwritable" in ended:
            raise ValueError("the database refuses it")
        self.lines += ended


async def says(what: str) -> str:
    return what


async def breaks() -> str:
    raise ValueError("nobody expected this")


async def test_one_that_breaks_takes_no_other_with_it() -> None:
    book = Book()
    sending = Sending("test", book.write, 10, 5)
    sending.start(1, says("a"))
    sending.start(1, breaks())
    sending.start(2, says("b"))
    await sending.wait()
    assert (book.lines, sending.is_empty) == (["a", "b"], True)


async def test_how_it_went_is_kept_until_it_is_written() -> None:
    book = Book()
    sending = Sending("test", book.write, 10, 5)
    sending.start(1, says("a"))
    book.shut = True
    with pytest.raises(StoreUnavailable):
        await sending.wait()
    book.shut = False
    await sending.finish(0)
    assert book.lines == ["a"]


async def test_an_owner_is_busy_with_its_share_until_they_end() -> None:
    book, answer = Book(), asyncio.Event()
    sending = Sending("test", book.write, 10, 2)

    async def slow() -> str:
        await answer.wait()
        return "late"

    sending.start(1, slow())
    assert (sending.busy(), sending.free) == ([], 9)
    sending.start(1, slow())
    assert (sending.busy(), sending.free) == ([1], 8)
    answer.set()
    await sending.wait()
    assert (sending.busy(), sending.free, book.lines) == ([], 10, ["late", "late"])


async def test_what_does_not_end_is_left_to_another() -> None:
    book = Book()
    sending = Sending("test", book.write, 10, 2)
    sending.start(1, asyncio.sleep(3600, "never"))
    sending.start(1, says("a"))
    await sending.finish(0.01)
    assert book.lines == ["a"]


async def test_what_the_database_refuses_is_dropped_and_the_others_are_written() -> None:
    book = Book()
    sending = Sending("test", book.write, 10, 5)
    for said in ("a", "unwritable", "b"):
        sending.start(1, says(said))
    await sending.wait()
    assert book.lines == ["a", "b"]
    sending.start(1, says("c"))
    await sending.wait()
    assert book.lines == ["a", "b", "c"]


async def test_a_server_is_full_with_half_of_the_places() -> None:
    sending, never = Sending("test", Book().write, 4, 4), asyncio.Event()

    async def hangs() -> str:
        await never.wait()
        return "late"

    for owner, server in ((1, "a"), (2, "a"), (3, "b"), (4, "")):
        sending.start(owner, hangs(), server)
    assert (sending.full(), sending.free) == ({"a"}, 0)
    await sending.finish(0)
