from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector())


@app.periodic(cron="0 3 * * 1-5")
@app.task
async def close_the_books(timestamp: int) -> None:
    print("closed")


async def ask() -> None:
    for job in await app.job_manager.list_jobs_async(task=close_the_books.name):
        print(job.task_kwargs["timestamp"], job.status, job.attempts)
