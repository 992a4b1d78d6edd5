"""The page of the workers: who they are, what waits, and runs that failed for good."""

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.overview import MAX_COUNTED
from cronty.jobs.run import FailedRun
from cronty.scheduler.overview import FLEET_BACK
from cronty.scheduler.runs import failed_cursor
from cronty.web.dashboard.formats import number
from cronty.web.dashboard.sparkline import draw_columns, draw_lag
from cronty.web.dashboard.timeline import counted
from cronty.web.dashboard.visit import ErrorPage, Visit

SHOWN = 15
MAX_WORKERS = 100


async def show_fleet(visit: Visit) -> Response:
    """Figures of the whole installation are for its operator; failed runs are the owner's own."""
    seen = await visit.service.overview.fleet(visit.caller)
    fleet = None if isinstance(seen, Err) else seen.value
    before = visit.query.get("before")
    found = await visit.service.runs.failed(visit.caller, SHOWN + 1, before)
    if isinstance(found, Err):
        raise ErrorPage(found)
    now, zone_name = await visit.clock()
    failed = found.value
    return visit.page(
        "fleet.html",
        now=now,
        zone=zone_name,
        fleet=fleet,
        workers=fleet.workers[:MAX_WORKERS] if fleet else [],
        alive=sum(one.alive for one in fleet.workers) if fleet else 0,
        # What the workers in the list run, and not what an agent has in its hands.
        running=sum(one.running for one in fleet.workers) if fleet else 0,
        lag=draw_lag(fleet.lag) if fleet else None,
        columns=draw_columns(fleet.throughput) if fleet else [],
        counts=counted(fleet.throughput) if fleet else {},
        capped=any(sum(one.verdicts.values()) >= MAX_COUNTED for one in fleet.throughput) if fleet else False,
        most_counted=MAX_COUNTED,
        back=FLEET_BACK,
        failed=failed[:SHOWN],
        groups=_grouped(failed[:SHOWN]),
        before=before,
        more=failed_cursor(failed[SHOWN - 1].run) if len(failed) > SHOWN else None,
        message=_message(visit),
    )


def _grouped(failed: list[FailedRun]) -> list[list[FailedRun]]:
    """Failures of one job with one error are one group, at the place of the latest."""
    groups: dict[tuple[int, str | None], list[FailedRun]] = {}
    for one in failed:
        groups.setdefault((one.run.job_number, one.run.error), []).append(one)
    return list(groups.values())


def _message(visit: Visit) -> str | None:
    match visit.query.get("done"), visit.query.get("n", ""):
        case "again", count if count.isdecimal() and len(count) < 7:
            runs = "run is" if count == "1" else "runs are"
            return f"{number(int(count))} {runs} tried again."
        case "none", _:
            return "Choose the runs to try again first."
        case _:
            return None
