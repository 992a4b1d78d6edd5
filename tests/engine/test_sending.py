"""Calls on their way: how each went is written down, whatever happens to the others."""

import asyncio

import pytest

from cronty.engine.sending import Sending


class Book:
    """Where it is written down, when it can be."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shut = False

    async def write(self, ended: list[str]) -> None:
        if self.shut:
            raise ConnectionError("the database is away")
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
    with pytest.raises(ConnectionError):
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
