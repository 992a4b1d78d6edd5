"""The fleet page: workers, backlog, and runs that failed for good."""

from datetime import datetime

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.overview import MOST_COUNTED
from cronty.jobs.run import FailedRun
from cronty.web.dashboard.formats import number
from cronty.web.dashboard.sparkline import draw_columns, draw_lag
from cronty.web.dashboard.timeline import counted
from cronty.web.dashboard.visit import Refused, Visit

DEAD = 15
MOST_WORKERS = 100


async def show_fleet(visit: Visit) -> Response:
    """Figures of the whole installation need the scope admin; dead letters are the owner's own."""
    fleet = await visit.service.overview.fleet() if visit.caller.may("admin") else None
    before = _moment(visit.query.get("before"))
    failed = await visit.service.runs.failed(visit.caller, DEAD + 1, before)
    if isinstance(failed, Err):
        raise Refused(failed)
    now, zone_name = await visit.clock()
    dead: list[FailedRun] = failed.value
    last = dead[DEAD - 1].run.finished_at if len(dead) > DEAD else None
    return visit.page(
        "fleet.html",
        now=now,
        zone=zone_name,
        fleet=fleet,
        workers=fleet.workers[:MOST_WORKERS] if fleet else [],
        alive=sum(one.alive for one in fleet.workers) if fleet else 0,
        lag=draw_lag(fleet.lag) if fleet else None,
        columns=draw_columns(fleet.throughput) if fleet else [],
        counts=counted(fleet.throughput) if fleet else {},
        capped=any(sum(one.verdicts.values()) >= MOST_COUNTED for one in fleet.throughput) if fleet else False,
        most_counted=MOST_COUNTED,
        dead=dead[:DEAD],
        before=before,
        more=last.isoformat() if last else None,
        message=_message(visit),
    )


def _message(visit: Visit) -> str | None:
    match visit.query.get("done"), visit.query.get("n", ""):
        case "again", count if count.isdecimal() and len(count) < 7:
            runs = "run is" if count == "1" else "runs are"
            return f"{number(int(count))} {runs} tried again."
        case "none", _:
            return "Choose the runs to try again first."
        case _:
            return None


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
