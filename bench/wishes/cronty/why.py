# Or without code: `cronty why close_the_books`, `cronty runs`, the dashboard, an agent.
from cronty import Cronty

cronty = Cronty()


@cronty.every("weekday at 3:00", zone="Europe/Berlin")
async def close_the_books() -> None:
    print("closed")


async def ask() -> None:
    for run in (await cronty.list_runs("close_the_books")).runs:
        print(run.scheduled_for, run.verdict, run.reason, run.error)
