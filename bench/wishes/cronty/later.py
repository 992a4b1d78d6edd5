from cronty import Cronty

cronty = Cronty()


@cronty.task
async def remind(name: str) -> None:
    print("reminded", name)


async def ask() -> None:
    await remind.schedule("in 2 hours", "ann")
