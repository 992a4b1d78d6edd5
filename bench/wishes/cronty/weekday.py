from cronty import Cronty

cronty = Cronty()


@cronty.every("weekday at 3:00", zone="Europe/Berlin")
async def close_the_books() -> None:
    print("closed")
