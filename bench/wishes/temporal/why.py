from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec


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
    spec = ScheduleSpec(cron_expressions=["0 3 * * 1-5"], time_zone_name="Europe/Berlin")
    await client.create_schedule("close_the_books", Schedule(action=action, spec=spec))


async def ask(client: Client) -> None:
    info = (await client.get_schedule_handle("close_the_books").describe()).info
    print(info.num_actions_skipped_overlap, info.num_actions_missed_catchup_window, info.recent_actions)
