# One that is due while the one before it runs is left out, on whichever machine: `overlap` is "skip" unless set.
import asyncio

from cronty import Cronty

cronty = Cronty()


@cronty.every("minute")
async def close_the_books() -> None:
    await asyncio.sleep(90)
