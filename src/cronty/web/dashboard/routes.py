"""Which page answers where. The dashboard stands at the root, beside MCP and REST."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from cronty.contract.caller import Scope
from cronty.scheduler.service import Service
from cronty.web.dashboard import editing, fleet, inbox, job, jobs, now, run, settings, signing
from cronty.web.dashboard.assets import assets
from cronty.web.dashboard.guarding import HEADERS
from cronty.web.dashboard.live import live
from cronty.web.dashboard.visit import Gate, Handler
from cronty.web.who import WhoCalls


def dashboard_routes(service: Callable[[], Service], who: WhoCalls) -> list[BaseRoute]:
    """The pages for whoever `who` recognises."""
    gate = Gate(service, who)

    def get(path: str, handler: Handler, scope: Scope | None = "read", *, public: bool = False) -> Route:
        return Route(path, gate.open(handler, scope, public=public), methods=["GET"])

    def post(path: str, handler: Handler, scope: Scope | None, *, public: bool = False) -> Route:
        return Route(path, gate.open(handler, scope, public=public), methods=["POST"])

    return [
        Route("/static/{digest}/{name}", _static, methods=["GET"]),
        get("/", now.show_now),
        get("/live", live(who)),
        get("/jobs", jobs.show_jobs),
        post("/jobs", editing.make_job, "schedule"),
        post("/jobs/tagged", jobs.change_tagged, "schedule"),
        get("/jobs/new", editing.new_job, "schedule"),
        get("/jobs/preview", editing.show_preview),
        get("/jobs/{job_id}", job.show_job),
        get("/jobs/{job_id}/runs", job.show_runs),
        get("/jobs/{job_id}/edit", editing.edit_job, "schedule"),
        post("/jobs/{job_id}/edit", editing.change_job, "schedule"),
        post("/jobs/{job_id}/delete", job.delete_job, "schedule"),
        *(post(f"/jobs/{{job_id}}/{act}", job.acting_on_job(act), scope) for act, (_, scope, _) in job.ACTS.items()),
        get("/runs/{run_id}", run.show_run),
        post("/runs/redrive", run.redrive, "run"),
        get("/inbox", inbox.show_inbox, "prompts"),
        post("/inbox", inbox.settle, "prompts"),
        get("/fleet", fleet.show_fleet),
        get("/settings", settings.show_settings),
        post("/settings/channels", settings.add_channel, "admin"),
        post("/settings/channels/change", settings.change_channel, "admin"),
        post("/settings/keys", settings.make_key, "admin"),
        post("/settings/keys/revoke", settings.revoke_key, "admin"),
        get("/sign-in", signing.show_sign_in, None, public=True),
        post("/sign-in", signing.signing_in(who), None, public=True),
        post("/sign-out", signing.sign_out, None, public=True),
        post("/theme", signing.set_theme, None, public=True),
    ]


async def _static(request: Request) -> Response:
    found = assets().get(request.path_params["name"])
    if found is None or found.url != request.url.path:
        return Response("Not found", 404, media_type="text/plain", headers=HEADERS)
    headers = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(found.body, media_type=found.media_type, headers=headers)
