from datetime import timedelta

from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

closed: list[str] = []


@activity.defn
async def close_the_books() -> None:
    closed.append("closed")


@workflow.defn
class CloseTheBooks:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(close_the_books, start_to_close_timeout=timedelta(hours=1))


async def test_what_it_does_after_two_days() -> None:
    async with (
        await WorkflowEnvironment.start_time_skipping() as env,
        Worker(env.client, task_queue="shop", workflows=[CloseTheBooks], activities=[close_the_books]),
    ):
        await env.client.execute_workflow(
            CloseTheBooks.run, id="close_the_books", task_queue="shop", start_delay=timedelta(days=2)
        )
    assert closed == ["closed"]
