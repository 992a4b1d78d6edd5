"""The inbox page: waiting prompts, which a person can view without taking them, and settle."""

from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.operations import Operations
from cronty.contract.requests import AcknowledgeInbox
from cronty.contract.result import Err
from cronty.web.dashboard.visit import ErrorPage, Visit

SHOWN = 20
MESSAGES = {
    "done": "Marked as done.",
    "quiet": "Marked as done, with nothing to report.",
    "failed": "Marked as failed.",
    "snooze": "Snoozed. It comes back at that time.",
    "late": "Somebody was quicker: that one was answered or taken in the meantime. The list below is current.",
}


async def show_inbox(visit: Visit, problem: Err | None = None) -> Response:
    after = visit.query.get("after") or None
    found = await visit.service.inbox.peek(visit.caller, SHOWN + 1, after)
    if isinstance(found, Err):
        raise ErrorPage(found)
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
    settled = await visit.ask(Operations.acknowledge_inbox, _request(visit))
    if isinstance(settled, Err):
        return await show_inbox(visit, settled)
    done = "late" if settled.value.refused else visit.form.get("outcome", "done")
    return visit.go(f"/inbox?done={done if done in MESSAGES else 'done'}")


def _request(visit: Visit) -> AcknowledgeInbox:
    report = visit.form.text("report") or None
    match visit.form.get("outcome"):
        case "quiet" | "snooze" as outcome:
            pass
        case "failed" as outcome:
            report = report or "Marked as failed on the dashboard, without a reason."
        case _:
            outcome = "done"
    until = visit.form.text("until")[:200] or "1h"
    return AcknowledgeInbox([visit.form.get("receipt", "")], outcome, report=report, snooze_for=until)
