"""What the questions of evaluation.xml are asked about; run as a module it fills a database for a trial by hand."""

import asyncio
from collections.abc import Mapping

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.requests import TriggerType
from cronty.contract.result import Ok
from tests.patience import PATIENCE
from tests.stories.backup_app import cronty as app


async def fill(clerk: Cronty) -> None:
    """Schedule everything that evaluation.xml describes; some worker has to have the tasks of `backup_app`."""
    await _jobs(clerk)
    await _notification(clerk, "Take a break", "eval-phone", "cron", {"expression": "0 15 * * 1-5"}, "America/New_York")
    await _notification(clerk, "Water the plants", "eval-home", "cron", {"expression": "0 8 */3 * *"}, "Europe/Berlin")
    once = {"run_at": "2031-06-01T10:00:00"}
    await _notification(clerk, "Renew passport", "eval-phone", "once", once, "Europe/Berlin")
    await _prompt(clerk, "Review the roadmap", "2031-01-15T09:00:00Z")
    await _prompt(clerk, "Prepare the board meeting", "2031-02-10T08:00:00Z", agent="planner")
    await _prompt(clerk, "Send season's greetings", "2031-12-20T09:00:00Z")
    await clerk.cancel_job(await _prompt(clerk, "Sweep stale branches", "2031-05-01T09:00:00Z"))


async def _jobs(clerk: Cronty) -> None:
    daily, monday = {"expression": "0 2 * * *"}, {"expression": "0 9 * * MON"}
    await _job(clerk, "nightly_backup", "run_backup", "cron", daily, "Europe/Berlin", "ops")
    await clerk.pause_job(await _job(clerk, "weekly_report", "run_backup", "cron", monday, "UTC", "reports"))
    once = {"run_at": "2031-03-31T09:00:00"}
    await _job(clerk, "invoice_run", "run_backup", "once", once, "Europe/Berlin", "billing")
    failing = await _job(clerk, "disk_check", "fill_the_disk", "interval", {"days": 1}, "UTC", "ops")
    await clerk.cancel_job(
        await _job(clerk, "old_cleanup", "cleanup_temp_files", "interval", {"hours": 6}, "UTC", "ops")
    )
    await clerk.run_job_now(failing)
    async with asyncio.timeout(PATIENCE):
        while (await clerk.job_status(failing)).error is None:
            await asyncio.sleep(0.05)


async def _job(
    clerk: Cronty,
    name: str,
    task: str,
    kind: TriggerType,
    config: Mapping[str, object],
    zone: str,
    tag: str,
) -> str:
    made = await clerk.schedule_job(name, task, kind, config, timezone=zone, tags=[tag])
    return made.job_id


async def _notification(
    clerk: Cronty, message: str, topic: str, kind: TriggerType, config: Mapping[str, object], zone: str
) -> None:
    what = {"message": message, "topic": topic}
    await clerk.schedule_job(message, "notify", kind, config, kwargs=what, timezone=zone)


async def _prompt(clerk: Cronty, prompt: str, at: str, agent: str | None = None) -> str:
    what = {"prompt": prompt} if agent is None else {"prompt": prompt, "agent": agent}
    made = await clerk.schedule_job(prompt, "prompt", "once", {"run_at": at}, kwargs=what)
    return made.job_id


async def _by_hand() -> None:
    async with app:
        assert isinstance(await app.service.scheduler.list_jobs(local_caller(app.owner)), Ok)
        await fill(app)


if __name__ == "__main__":
    asyncio.run(_by_hand())
