# One that is due while the one before it runs is left out: `overlap` of its policy is SKIP unless it is set.
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleIntervalSpec, ScheduleSpec


@activity.defn
async def close_the_books() -> None:
    print("closed")


@workflow.defn
class CloseTheBooks:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(close_the_books, start_to_close_timeout=timedelta(hours=1))


async def declare(client: Client) -> None:
    action = ScheduleActionStartWorkflow(CloseTheBooks.run, id="close_the_books", task_queue="shop")
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(minutes=1))])
    await client.create_schedule("close_the_books", Schedule(action=action, spec=spec))
