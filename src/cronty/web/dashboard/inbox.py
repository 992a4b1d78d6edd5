"""The inbox page: waiting prompts, which a person can view without taking them, and settle."""

from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.result import Err
from cronty.jobs.outcome import Done, Failed, Snoozed
from cronty.scheduler.inbox import outcome_of
from cronty.web.dashboard.visit import Refused, Visit

SHOWN = 20
MESSAGES = {
    "done": "Settled as done.",
    "quiet": "Settled: there was nothing to report.",
    "failed": "Settled as failed.",
    "snooze": "Snoozed. It comes back at that time.",
    "late": "That prompt was settled or handed out again in the meantime. The list below is current.",
}


async def show_inbox(visit: Visit, problem: Err | None = None) -> Response:
    after = visit.query.get("after") or None
    found = await visit.service.inbox.peek(visit.caller, SHOWN + 1, after)
    if isinstance(found, Err):
        raise Refused(found)
    now, zone_name = await visit.clock()
    items = found.value
    return visit.page(
        "inbox.html",
        200 if problem is None else status_of(problem.code),
        items=items[:SHOWN],
        more=items[SHOWN - 1].run_id if len(items) > SHOWN else None,
        after=after,
        now=now,
        zone=zone_name,
        err=problem,
        message=MESSAGES.get(visit.query.get("done", "")),
    )


async def settle(visit: Visit) -> Response:
    outcome = await _outcome(visit)
    if isinstance(outcome, Err):
        return await show_inbox(visit, outcome)
    settled = await visit.service.inbox.settle(visit.caller, [visit.form.get("receipt", "")], outcome)
    if isinstance(settled, Err):
        return await show_inbox(visit, settled)
    done = visit.form.get("outcome", "done") if all(settled.value.values()) else "late"
    return visit.go(f"/inbox?done={done if done in MESSAGES else 'done'}")


async def _outcome(visit: Visit) -> Done | Failed | Snoozed | Err:
    outcome, report = visit.form.get("outcome", "done"), visit.form.text("report") or None
    if outcome == "failed":
        report = report or "Settled as failed on the dashboard, without a reason."
    until = visit.form.text("until")[:200] or "1h"
    known = outcome if outcome in ("quiet", "failed", "snooze") else "done"
    return outcome_of(known, report, until, await visit.clock())
