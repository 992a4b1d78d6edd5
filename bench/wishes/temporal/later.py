from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client


@activity.defn
async def remind(name: str) -> None:
    print("reminded", name)


@workflow.defn
class Remind:
    @workflow.run
    async def run(self, name: str) -> None:
        await workflow.execute_activity(remind, name, start_to_close_timeout=timedelta(hours=1))


async def ask(client: Client) -> None:
    await client.start_workflow(Remind.run, "ann", id="remind ann", task_queue="shop", start_delay=timedelta(hours=2))
