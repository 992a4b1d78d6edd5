# It was 3:00, and there was one more schedule.
from cronty import Cronty

cronty = Cronty()


@cronty.every("weekday at 4:00", zone="Europe/Berlin")
async def close_the_books() -> None:
    print("closed")
