"""How a service stands: up or not, since when, where, what comes next, and what it did."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cronty.app import Cronty
from cronty.cli.saying import Column, clock, console, say, show_rows
from cronty.cli.service_away import counted, in_words
from cronty.cli.service_place import Alive, Place, Wish
from cronty.contract.answers import to_json
from cronty.store.database import StoreUnavailable
from cronty.store.local import NoDatabase
from cronty.store.schema import SchemaProblem

type Standing = dict[str, Any]

LOOK_BACK: Final = timedelta(days=7)
_NEXT: Final = 5
_WORDS: Final = {
    "up": "up",
    "starting": "starting: it doesn't answer yet",
    "restarting": "between two starts: the server ended, and is started again",
    "unwatched": "up, but the process that would start it again was killed. `cronty up` mends that",
    "gone": "gone, though nobody said `cronty down`. `cronty up` brings it back",
    "down": "down. `cronty up` starts it",
}


async def standing_of(place: Place, is_ready: Callable[[str], bool]) -> Standing:
    wish, keeper, serving = place.wish(), place.alive("keeper"), place.alive("serving")
    answers = wish is not None and serving is not None and is_ready(wish.url)
    state = _state(wish, keeper, serving, answers=answers)
    found: Standing = {"up": answers, "state": state, "log": str(place.log)}
    if wish is not None:
        found |= {"url": wish.url, "mcp": f"{wish.url}/mcp", "kept_by": wish.kept_by}
    if serving is not None:
        found |= {"since": serving.since.isoformat(), "pid": serving.pid, "starts": serving.starts}
    if wish is not None and serving is not None and answers:
        found |= await _told(wish, serving.since)
    elif wish is not None:
        found["last_lines"] = place.last_lines()
    return found


def _state(wish: Wish | None, keeper: Alive | None, serving: Alive | None, *, answers: bool) -> str:
    if serving is not None and keeper is None:
        return "unwatched"
    if keeper is not None:
        return "up" if answers else "starting" if serving is not None else "restarting"
    return "down" if wish is None else "gone"


async def _told(wish: Wish, since: datetime) -> Standing:
    """What the database tells, where the service keeps it."""
    try:
        async with Cronty(wish.environment.get("CRONTY_DATABASE_URL"), run_jobs=False) as cronty:
            _, zone = await cronty.service.scheduler.clock(cronty.caller)
            coming = await cronty.list_jobs("pending", limit=_NEXT)
            absences = await cronty.service.runs.absences(cronty.caller, min(since, datetime.now(UTC) - LOOK_BACK), 1)
            return {
                "zone": zone,
                "next": [to_json(job) for job in coming.jobs if job.next_run],
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
    except (StoreUnavailable, NoDatabase, SchemaProblem) as away:
        return {"database": str(away)}


def show_standing(found: Standing) -> None:
    out = console()
    say(f"Cronty is {_WORDS[found['state']]}.", "bold")
    facts: list[tuple[str, str]] = []
    if "since" in found:
        again = f", after {found['starts']} starts" if found["starts"] > 1 else ""
        facts.append(("since", f"{clock(found['since'])} UTC{again} (process {found['pid']})"))
    if "url" in found:
        facts += [("at", found["url"]), ("kept by", found["kept_by"]), ("log", found["log"])]
    if "did" in found:
        facts.append(("did", f"{counted(found['did'])} since its start"))
    facts += [("away", one["in_words"]) for one in found.get("away", [])]
    if "database" in found:
        facts.append(("database", found["database"]))
    if facts:
        show_rows([Column("", whole=True), Column("", fold=True)], facts, out)
    if found.get("next"):
        out.print()
        rows = [(str(job["job_id"]).split("_")[1], job["name"], clock(job["next_run"])) for job in found["next"]]
        show_rows([Column("id", whole=True), Column("name"), Column("next", whole=True)], rows, out)
    if found.get("last_lines") and found["state"] != "down":
        say("\nThe end of the log:")
        for line in found["last_lines"]:
            say(f"  {line}")
