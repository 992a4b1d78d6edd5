from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy


@activity.defn
async def fetch(page: str) -> None:
    raise ConnectionError(page)


@workflow.defn
class Fetch:
    @workflow.run
    async def run(self, page: str) -> None:
        await workflow.execute_activity(
            fetch, page, start_to_close_timeout=timedelta(hours=1), retry_policy=RetryPolicy(maximum_attempts=6)
        )


async def ask(client: Client) -> None:
    await client.start_workflow(Fetch.run, "/prices", id="fetch /prices", task_queue="shop")
