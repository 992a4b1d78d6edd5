# It was 3:00, and there was one more schedule.
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleSpec,
    ScheduleUpdate,
)


@activity.defn
async def close_the_books() -> None:
    print("closed")


@workflow.defn
class CloseTheBooks:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(close_the_books, start_to_close_timeout=timedelta(hours=1))


def schedules() -> dict[str, Schedule]:
    action = ScheduleActionStartWorkflow(CloseTheBooks.run, id="close_the_books", task_queue="shop")
    spec = ScheduleSpec(cron_expressions=["0 4 * * 1-5"], time_zone_name="Europe/Berlin")
    return {"close_the_books": Schedule(action=action, spec=spec)}


async def declare(client: Client) -> None:
    for name, schedule in schedules().items():
        try:
            await client.create_schedule(name, schedule)
        except ScheduleAlreadyRunningError:
            await client.get_schedule_handle(name).update(lambda _: ScheduleUpdate(schedule))  # noqa: B023
    async for stored in await client.list_schedules():
        if stored.id not in schedules():
            await client.get_schedule_handle(stored.id).delete()
