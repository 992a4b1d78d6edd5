"""The status of the service: up or not, since when, where, what comes next, and what it did."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from cronty.app import Cronty
from cronty.cli.output import Column, clock, console, say, show_rows
from cronty.cli.ready import is_ready
from cronty.cli.service_absences import counted, in_words
from cronty.cli.service_folder import Alive, ServiceFolder, ServiceSpec
from cronty.contract.answers import to_json
from cronty.store import freezing
from cronty.store.database import StoreUnavailable
from cronty.store.local import NoDatabase
from cronty.store.schema import SchemaProblem

type Status = dict[str, Any]

LOOK_BACK: Final = timedelta(days=7)
_NEXT: Final = 5
_LOOKED_AT: Final = 20
PORTLESS: Final = "fires, but its page can't be opened: port {port} is taken by another program"
_WORDS: Final = {
    "portless": PORTLESS + ". It takes the port once it is free; `cronty up --port` takes another one",
    "up": "is up",
    "starting": "is starting: it doesn't answer yet",
    "restarting": "is restarting: the server exited",
    "unwatched": "is up, but the process that would restart it was killed. `cronty up` fixes that",
    "stuck": "is not answering, and the process that would restart it was killed. `cronty up` fixes that",
    "gone": "is gone without `cronty down`. `cronty up` brings it back",
    "down": "is down. `cronty up` starts it",
}
_ELSEWHERE: Final = (
    "No service of this machine runs: `cronty up` starts one. "
    "`cronty doctor` tells of the workers on the database in CRONTY_DATABASE_URL."
)


async def status_of(folder: ServiceFolder) -> Status:
    spec, keeper, serving = folder.spec(), folder.alive("keeper"), folder.alive("serving")
    answers = spec is not None and serving is not None and is_ready(spec.url, folder.path.parent)
    portless = not answers and folder.is_portless()
    state = "portless" if portless and keeper is not None else _state(spec, keeper, serving, answers=answers)
    found: Status = {"up": answers, "state": state, "log": str(folder.log)}
    if spec is not None:
        found |= {"url": spec.url, "mcp": f"{spec.url}/mcp", "kept_by": spec.kept_by}
    if serving is not None:
        found |= {"since": serving.since.isoformat(), "pid": serving.pid, "starts": serving.starts}
    if spec is not None and serving is not None and (answers or portless):
        found |= await _from_database(spec, serving.since)
    elif spec is not None:
        found["last_lines"] = folder.last_lines()
    return found


def _state(spec: ServiceSpec | None, keeper: Alive | None, serving: Alive | None, *, answers: bool) -> str:
    if serving is not None and keeper is None:
        return "unwatched" if answers else "stuck"
    if keeper is not None:
        return "up" if answers else "starting" if serving is not None else "restarting"
    return "down" if spec is None else "gone"


async def _from_database(spec: ServiceSpec, since: datetime) -> Status:
    """What the service's database says: next jobs, verdicts, absences."""
    try:
        async with Cronty(spec.environment.get("CRONTY_DATABASE_URL"), run_jobs=False) as cronty:
            _, zone = await cronty.service.scheduler.clock(cronty.caller)
            coming = await cronty.list_jobs("pending", limit=_NEXT)
            under_way = await cronty.list_jobs("running", limit=_LOOKED_AT)
            absences = await cronty.service.runs.absences(cronty.caller, min(since, datetime.now(UTC) - LOOK_BACK), 1)
            held = await freezing.frozen(cronty.database)
            return {
                **({} if held is None else {"frozen": held.sentence}),
                "zone": zone,
                "next": [to_json(job) for job in coming.jobs if job.next_run],
                "trouble": [f"{job.name}: {job.trouble}" for job in under_way.jobs if job.trouble],
                "did": await cronty.service.runs.tally(cronty.caller, since),
                "away": [
                    {
                        "since": one.since.isoformat(),
                        "until": one.until.isoformat(),
                        "late": one.late,
                        "coalesced": one.coalesced,
                        "missed": one.missed,
                        "in_words": in_words(one, zone),
                    }
                    for one in absences
                ],
            }
    except (StoreUnavailable, NoDatabase, SchemaProblem) as problem:
        return {"database": str(problem)}


def show_status(found: Status, *, own_database: bool = False) -> None:
    """`own_database` if one is set: workers may live there without a service of this machine."""
    out = console()
    port = urlsplit(str(found.get("url", ""))).port
    here = f"Cronty {_WORDS[found['state']].format(port=port)}."
    say(_ELSEWHERE if own_database and found["state"] == "down" else here, "bold")
    if "frozen" in found:
        say(found["frozen"], "bold")
    facts: list[tuple[str, str]] = []
    if "since" in found:
        restarts = f", after {found['starts']} starts" if found["starts"] > 1 else ""
        since, zone_name = datetime.fromisoformat(found["since"]), found.get("zone", "UTC")
        shown = clock(since.astimezone(ZoneInfo(zone_name)))
        facts.append(("since", f"{shown}, {zone_name}{restarts} (process {found['pid']})"))
    if "url" in found:
        facts += [("at", found["url"]), ("kept by", found["kept_by"]), ("log", found["log"])]
    if "did" in found:
        facts.append(("did", f"{counted(found['did'])} since its start"))
    facts += [("away", one["in_words"]) for one in found.get("away", [])]
    facts += [("trouble", one) for one in found.get("trouble", [])]
    if "database" in found:
        facts.append(("database", found["database"]))
    if facts:
        show_rows([Column("", whole=True), Column("", fold=True)], facts, out)
    if found.get("next"):
        out.print()
        rows = [(str(job["job_id"]).split("_")[1], job["name"], clock(job["next_run"])) for job in found["next"]]
        show_rows([Column("id", whole=True), Column("name"), Column(f"next ({found['zone']})", whole=True)], rows, out)
    if found.get("last_lines"):
        say("\nThe end of the log:")
        for line in found["last_lines"]:
            say(f"  {line}")
