"""The two job tools that aren't made from the table of operations: cancel a job, list runs."""

from typing import Annotated, Final

from mcp.types import CallToolResult
from pydantic import Field

from cronty.contract.answers import to_json
from cronty.contract.operations import Operations
from cronty.contract.requests import MAX_LISTED, CancelJob, ListFailedRuns, ListRuns
from cronty.contract.result import Err
from cronty.jobs.run import FAILED
from cronty.mcp.answers import answer, as_error, choices_of, sentence
from cronty.mcp.context import ToolContext
from cronty.mcp.shapes import Cancelled, Runs
from cronty.mcp.tool import Spec

_WHOSE: Final = "Without a job_id only failed and quarantined runs are listed; list_jobs shows the jobs."


class JobTools:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def specs(self) -> list[Spec]:
        return [
            Spec(self.cancel_job, "Cancel a job", "jobs", Operations.cancel_job),
            Spec(self.list_runs, "Why did it run, or not", "jobs", Operations.list_runs),
        ]

    async def cancel_job(
        self, job_id: Annotated[str, Field(description="The job's id, or its name.")]
    ) -> Annotated[CallToolResult, Cancelled]:
        """Cancel a job so that it never fires again; it stays listed as cancelled. Repeating it is harmless.
        To stop for a while use pause_schedule. Example: {"job_id": "job_1_1738764000"}"""
        result = await self._context.answer(Operations.cancel_job, CancelJob(job_id))
        if isinstance(result, Err):
            return answer({"cancelled": False, "job_id": job_id, "error": sentence(result), **choices_of(result)})
        return answer({"cancelled": True, "job_id": job_id})

    async def list_runs(
        self,
        job_id: Annotated[
            str | None, Field(description="The job's id or name. Left out: what failed lately, over all jobs.")
        ] = None,
        limit: Annotated[int, Field(description="How many, newest first, up to 1000.")] = 20,
        verdict: Annotated[
            str | None,
            Field(description="waiting, running, done, failed, cancelled, skipped, coalesced, missed or quarantined."),
        ] = None,
    ) -> Annotated[CallToolResult, Runs]:
        """The history of a job: every planned moment with its verdict and the reason, and when a waiting one is tried
        next. Answers "why did it not run?". Example: {"job_id": "job_1_1738764000", "limit": 5}"""
        if job_id is None:
            if verdict not in (None, *FAILED):
                return as_error(Err("bad_request", f"verdict {verdict} needs a job_id.", _WHOSE, "verdict"))
            most = MAX_LISTED if verdict is not None and 0 < limit < MAX_LISTED else limit
            failed = await self._context.answer(Operations.list_failed_runs, ListFailedRuns(limit=most))
            if isinstance(failed, Err):
                return as_error(failed)
            runs = [run for run in failed.value.runs if verdict in (None, run.verdict)]
            return answer({"runs": to_json(runs[:limit])})
        found = await self._context.answer(Operations.list_runs, ListRuns(job_id, limit=limit, verdict=verdict))
        if isinstance(found, Err):
            return as_error(found)
        return answer({"job_id": job_id, "runs": to_json(found.value.runs)})
