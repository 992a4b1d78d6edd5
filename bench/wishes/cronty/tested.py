from cronty import Cronty
from cronty.testing import by_hand

pytest_plugins = ["cronty.testing.fixtures"]
cronty = Cronty()
closed: list[str] = []


@cronty.every("weekday at 3:00", zone="Europe/Berlin")
async def close_the_books() -> None:
    closed.append("closed")


async def test_not_at_the_weekend(cronty_database: str) -> None:
    async with by_hand(cronty, cronty_database, at="2027-01-08 00:00") as clock:
        await clock.move(days=1)
        assert len(closed) == 1
        await clock.move(days=2)
        assert len(closed) == 1
        await clock.move(days=1)
        assert len(closed) == 2
