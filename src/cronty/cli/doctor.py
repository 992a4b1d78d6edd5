"""`cronty doctor`: checks an installation."""

import asyncio
from datetime import UTC, datetime
from typing import Final

import typer

from cronty.actions.agents import BadAgents, read_agents
from cronty.actions.program import open_folders
from cronty.cli.output import REFUSED, Column, Json, counted, print_json, refuse, show_rows
from cronty.settings import Settings
from cronty.store.connecting import ATTRIBUTE, WRITABLE, each_host, place_of, wanted_of
from cronty.store.faults import StoreMisnamed
from cronty.store.health import Health, LimitStanding, look
from cronty.store.local import has_local_server, start_local_server
from cronty.store.migrate import OLDEST_POSTGRES, SAFE_POSTGRES, schema_state
from cronty.timing import tzdata_version

STALE: Final = 15
"""Seconds after which an expired lease or a due slot should have been handled; the same as in `health.sql`."""

OPERATORS: Final = ("servers", "locks", "role", "walls")
"""What only an operator of PostgreSQL can put right."""

LOCKS_OF_A_WEEK: Final = 5
"""Its table and four indexes: a statement about runs locks those of every week while it is planned."""


def doctor(json: Json = False) -> None:
    settings = Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
    local = settings.database_url is None
    if local and not has_local_server(settings.data_dir.expanduser()):
        refuse(
            "Cronty has not run on this machine yet.", hint="`cronty up` makes its database and starts it.", json=json
        )
    url = settings.database_url or start_local_server(settings.data_dir)
    state = asyncio.run(schema_state(url))
    if problem := state.problem() or state.outsider:
        refuse(f"{problem}", hint=f"The database is {place_of(url)}.", json=json)
    findings = [_servers(url)]
    try:
        health = asyncio.run(look(url, settings.direct_url))
        findings += [_way(health, settings), *_findings(health, datetime.now(UTC))]
    except StoreMisnamed as wrong:
        findings.append((False, "way", str(wrong)))
    findings.append((state.walls is None, "walls", f"row-level security {state.walls or 'keeps owners apart'}"))
    findings += agents_here(settings)
    if local:  # which came with it: nobody has set it up
        findings = [one for one in findings if not one[0] or one[1] not in OPERATORS]
    good = all(fine for fine, _, _ in findings)
    if json:
        found = [{"good": fine, "what": what, "said": said} for fine, what, said in findings]
        print_json({"good": good, "findings": found})
    else:
        rows = [("good" if fine else "wrong", what, said) for fine, what, said in findings]
        styles = ["green" if fine else "red" for fine, _, _ in findings]
        columns = [Column("verdict", whole=True), Column("looked at", whole=True), Column("seen", fold=True)]
        show_rows(columns, rows, styles=styles)
    if not good:
        raise typer.Exit(REFUSED)


def _servers(url: str) -> tuple[bool, str, str]:
    """Whether connections always go to a server that takes writes."""
    count, wanted = len(each_host(url)), wanted_of(url)
    if wanted not in (None, *WRITABLE):
        return False, "servers", f"{ATTRIBUTE}={wanted} may stay with a replica: leave it out, or use read-write"
    return True, "servers", f"{count} servers; the one that takes writes is used" if count > 1 else "1 server"


def _way(health: Health, settings: Settings) -> tuple[bool, str, str]:
    """What is between us and PostgreSQL; what can't be used was refused before."""
    if settings.database_url is None:
        return True, "data", f"on this machine, in {settings.data_dir}"
    direct = "; there is a direct URL too" if settings.direct_url else ""
    return True, "way", f"CRONTY_DATABASE_URL {health.way}{direct}"


def _role(health: Health) -> tuple[bool, str, str]:
    if not health.almighty:
        return True, "role", "a plain one"
    return False, "role", "a superuser, or one that bypasses row-level security: use a plain role (production.md)"


def agents_here(settings: Settings) -> list[tuple[bool, str, str]]:
    """Whether programs of agents that run as our own user are kept from what is ours; nothing if there are none."""
    if settings.agents_file is None:
        return []
    try:
        agents = read_agents(settings.agents_file).values()
    except BadAgents as bad:
        return [(False, "agents", str(bad))]
    if not any(agent.deliver == "command" and agent.user is None for agent in agents):
        return []
    flaw = open_folders()
    return [(flaw is None, "agents", flaw or "their programs are kept apart from this service")]


def _database(health: Health) -> tuple[bool, str, str]:
    flaw = ""
    major, minor = divmod(health.version_number, 10000)
    if health.version_number < OLDEST_POSTGRES:
        flaw = f", and {OLDEST_POSTGRES // 10000} is the oldest that will do"
    elif minor < (safe := SAFE_POSTGRES.get(major, 0)):
        flaw = f" lacks security fixes: install {major}.{safe} or newer and restart it"
    elif health.read_only:
        flaw = ", read-only: nothing can fire"
    return not flaw, "database", f"PostgreSQL {health.version}{flaw}"


def _locks(health: Health) -> tuple[bool, str, str]:
    """Whether PostgreSQL's lock table has room for all connections to read the whole history at once."""
    needed = health.weeks * LOCKS_OF_A_WEEK * health.connections
    room = health.locks_each * health.max_connections
    said = f"{health.weeks} weeks of history and {health.connections} connections take up to {needed} of {room}"
    if needed <= room:
        return True, "locks", said
    enough = -(-needed // health.max_connections)
    return False, "locks", f"{said}: set max_locks_per_transaction to {enough} or more, and restart PostgreSQL"


def _limit(limit: LimitStanding, *, is_frozen: bool) -> tuple[bool, str, str]:
    """What runs and waits under a limit of tasks. Waiting is what it is for, unless there is room."""
    said: list[str] = []
    if limit.at_once is not None:
        said.append(f"{limit.running} of {limit.at_once} under way")
    if limit.per_minute is not None:
        said.append(f"{limit.starts} of {limit.per_minute} begun within a minute")
    said.append(f"{counted(limit.waiting, 'run')} waiting")
    if limit.held_until is not None:
        said.append(f"held until {limit.held_until:%H:%M:%S} UTC, as a run was told outside")
    idle = limit.waiting > 0 and limit.has_room and not limit.running and not limit.starts and not is_frozen
    if idle:
        said.append(f"though there is room: does a worker have {' or '.join(limit.tasks)}, and serve its queue?")
    return not idle, f"limit {limit.name}", ", ".join(said)


def _findings(health: Health, here: datetime) -> list[tuple[bool, str, str]]:
    """For each check: whether it passed, what was checked, and what was found."""
    offset = (health.now - here).total_seconds()
    late = (health.now - health.oldest_overdue).total_seconds() if health.oldest_overdue else 0.0
    our_tzdata = tzdata_version()
    others = sorted(set(health.tzdata or []) - {our_tzdata})
    stale = ", ".join(health.stale_tasks or [])
    return [
        _database(health),
        _locks(health),
        _role(health),
        (health.frozen is None, "freeze", health.frozen.sentence if health.frozen else "off"),
        (abs(offset) < 1, "clock", f"this machine is {offset:+.3f} s from the database"),
        (
            not others,
            "time zones",
            f"tzdata {our_tzdata}" + (f"; workers use {', '.join(others)}" if others else ""),
        ),
        (
            health.workers > 0,
            "workers",
            f"{health.workers} alive"
            if health.workers
            else "none alive: nothing will fire until `cronty up`, `cronty serve` or `cronty work` runs",
        ),
        (
            not health.dead_workers,
            "leases",
            f"{health.dead_workers} passed {STALE} s ago or more, and "
            + ("no engine has taken over: are they all stuck?" if health.workers else "no worker is alive to take over")
            if health.dead_workers
            else "none overdue",
        ),
        (
            late < STALE,
            "oldest overdue slot",
            (f"{late:.1f} s late" if health.oldest_overdue else "none")
            + (
                f", with {counted(health.workers, 'worker')} alive: an engine is stuck"
                if late >= STALE and health.workers and not health.frozen
                else ""
            ),
        ),
        (
            not health.stale_queue,
            "queue",
            f"{counted(health.stale_queue, 'run')} due for over 30 s; no worker takes: {stale}"
            if health.stale_queue
            else "nothing waits too long",
        ),
        *(_limit(limit, is_frozen=health.frozen is not None) for limit in health.limits),
        (
            not health.set_aside,
            "set aside",
            f"{counted(health.set_aside, 'job')} can't be computed any more" if health.set_aside else "none",
        ),
    ]
