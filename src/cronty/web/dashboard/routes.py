"""The routes of the dashboard, at the root of the server."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from cronty.contract.operations import AnyOperation, Operations
from cronty.scheduler.service import Service
from cronty.web.callers import FindCaller, LocalKey
from cronty.web.dashboard import editor, fleet, inbox, job, jobs, live, now, run, settings, week
from cronty.web.dashboard.assets import assets
from cronty.web.dashboard.login import Login, set_theme, sign_out
from cronty.web.dashboard.prefix import inner_path
from cronty.web.dashboard.security import HEADERS
from cronty.web.dashboard.visit import Gate, Handler
from cronty.web.sessions import Sessions


def dashboard_routes(
    service: Callable[[], Service], find_caller: FindCaller, sessions: Sessions, local: LocalKey | None = None
) -> list[BaseRoute]:
    """The pages; `find_caller` tells who may see them, `local` is accepted as a link too."""
    gate = Gate(service, find_caller, sessions)
    login = Login(find_caller, sessions, local)

    def get(path: str, handler: Handler, operation: AnyOperation | None = None, *, public: bool = False) -> Route:
        return Route(path, gate.open(handler, operation, public=public), methods=["GET"])

    def post(path: str, handler: Handler, operation: AnyOperation | None = None, *, public: bool = False) -> Route:
        return Route(path, gate.open(handler, operation, public=public), methods=["POST"])

    return [
        Route("/static/{digest}/{name}", _static, methods=["GET"]),
        get("/", now.show_now),
        get("/live", live.show_live),
        get("/week", week.show_week),
        get("/jobs", jobs.show_jobs),
        post("/jobs", editor.make_job, Operations.schedule_job),
        post("/jobs/tagged", jobs.change_tagged, Operations.pause_job),
        get("/jobs/new", editor.new_job, Operations.schedule_job),
        get("/jobs/preview", editor.show_preview),
        get("/jobs/{job_id}", job.show_job),
        get("/jobs/{job_id}/runs", job.show_runs),
        get("/jobs/{job_id}/slot", job.show_slot),
        get("/jobs/{job_id}/edit", editor.edit_job, Operations.edit_job),
        post("/jobs/{job_id}/edit", editor.change_job, Operations.edit_job),
        post("/jobs/{job_id}/delete", job.delete_job, Operations.delete_job),
        *(post(f"/jobs/{{job_id}}/{act}", job.acting_on_job(act), one) for act, (_, one, _) in job.ACTS.items()),
        get("/runs/{run_id}", run.show_run),
        post("/runs/redrive", run.redrive, Operations.redrive_runs),
        post("/runs/{run_id}/stop", run.stop, Operations.stop_run),
        get("/inbox", inbox.show_inbox, Operations.read_inbox),
        post("/inbox", inbox.settle, Operations.acknowledge_inbox),
        get("/fleet", fleet.show_fleet),
        get("/settings", settings.show_settings),
        post("/settings/zone", settings.set_zone, Operations.set_zone),
        post("/settings/zone/suggest", settings.suggest_zone, Operations.set_zone),
        post("/settings/channels", settings.add_channel, Operations.save_channel),
        post("/settings/channels/change", settings.change_channel, Operations.save_channel),
        post("/settings/keys", settings.make_key, Operations.add_key),
        post("/settings/keys/revoke", settings.revoke_key, Operations.revoke_key),
        get("/sign-in", login.show, public=True),
        post("/sign-in", login.sign_in, public=True),
        post("/sign-out", sign_out, public=True),
        post("/theme", set_theme, public=True),
    ]


async def _static(request: Request) -> Response:
    found = assets().get(request.path_params["name"])
    if found is None or found.url != inner_path(request):
        return Response("Not found", 404, media_type="text/plain", headers=HEADERS)
    headers = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(found.body, media_type=found.media_type, headers=headers)
