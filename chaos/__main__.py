"""`python -m chaos kill --fires 20000 --workers 4 --kill-every 1 --restarts 1`."""

import argparse
import json
import signal
import sys
from types import FrameType
from typing import Any, Final

from chaos import (
    alerts,
    backup,
    clients,
    deliver,
    deploys,
    enqueue,
    failover,
    freeze,
    kill,
    life,
    limits,
    poison,
    restore,
    sleep,
    suspend,
    upgrade,
    year,
)
from chaos.failover.events import EVENTS

SCENARIOS: Final[dict[str, Any]] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        alerts, backup, clients, deliver, deploys, enqueue, failover, freeze, kill, life, limits, poison, restore,
        sleep, suspend, upgrade, year,
    )
}  # fmt: skip

EXAMPLES = """
examples:
  python -m chaos kill --fires 20000 --workers 4 --kill-every 1 --restarts 1
  python -m chaos kill --fires 1000000 --workers 4 --kill-every 2 --restarts 60 --duration 1800 --patience 1800
  python -m chaos freeze --trials 50 --rounds 20
  python -m chaos sleep --jobs 10000
  python -m chaos poison --kind suicide endless
  python -m chaos clients --clients 8 --jobs 40 --kills 20 --seconds 60
  python -m chaos deliver --runs 20000 --workers 4 --kill-every 1
  python -m chaos deploys --schedules 500 --deploys 20
  python -m chaos enqueue --runs 10000
  python -m chaos limits --narrow 20000 --asking 300
  python -m chaos failover --events switchover,kill:2,freeze
  python -m chaos failover --async --events kill,lagkill
  python -m chaos upgrade --fires 10000 --workers 4
  python -m chaos suspend --times 20
  python -m chaos backup --runs 5000000
  python -m chaos backup --runs 5000000 --held 1800 --before 300
  python -m chaos restore --fires 20000 --frozen 60
  python -m chaos alerts
  python -m chaos year --weeks 52
  python -m chaos life --steps 50000 --seeds 1-32 --processes 2
  python -m chaos life --steps 1000 --seed 7 --shrink

Each one starts a PostgreSQL of its own, prints one line of JSON with all its figures, and exits with 1 if `broken` in
it names a promise that doesn't hold. `failover` prints a line for each event before that; it needs root, Debian's
packages patroni, etcd-server, python3-etcd and postgresql, and 45 ports from --port on.
"""


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m chaos", description="Break things, and see whether Cronty keeps its promises.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    scenarios = parser.add_subparsers(
        dest="scenario",
        required=True,
        metavar="scenario",
    )
    for_kill = scenarios.add_parser("kill", help="kill -9 workers and PostgreSQL under load", description=kill.__doc__)
    _number(for_kill, "fires", 20_000, "how many slots fall due")
    _number(for_kill, "workers", 4, "how many worker processes")
    _number(for_kill, "kill-every", 1.0, "seconds between two kills of a worker; 0 for none")
    _number(for_kill, "restarts", 1, "how often PostgreSQL is killed and started again")
    _number(for_kill, "duration", 30.0, "seconds over which slots fall due")
    _number(for_kill, "patience", 40.0, "seconds after that until everything must be settled")
    _number(for_kill, "lease", 5.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_kill, "seed", 1, "of the random choices")
    for_freeze = scenarios.add_parser("freeze", help="SIGSTOP workers past their lease", description=freeze.__doc__)
    _number(for_freeze, "trials", 20, "runs in flight when their worker is frozen")
    _number(for_freeze, "rounds", 2, "how often that is done")
    _number(for_freeze, "burst", 2000, "jobs that fire while workers are frozen at random")
    _number(for_freeze, "seconds", 12.0, "how long workers are frozen at random")
    _number(for_freeze, "held", 35.0, "seconds that a frozen worker may hold up jobs it has locked")
    _number(for_freeze, "lease", 2.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_freeze, "seed", 1, "of the random choices")
    for_sleep = scenarios.add_parser("sleep", help="no engine for an hour and a year", description=sleep.__doc__)
    _number(for_sleep, "jobs", 1000, "minutely jobs that sleep for an hour")
    _number(for_sleep, "year-jobs", 6, "minutely jobs that sleep for a year")
    for_poison = scenarios.add_parser("poison", help="tasks that hurt their worker", description=poison.__doc__)
    for_poison.add_argument(
        "--kind", dest="kinds", nargs="+", choices=poison.KINDS, default=poison.KINDS, help="only these"
    )
    _number(for_poison, "bystanders", 60, "runs beside each poison that must be done")
    _number(for_poison, "patience", 40.0, "seconds that each poison may take")
    for_clients = scenarios.add_parser("clients", help="kill -9 MCP clients", description=clients.__doc__)
    _number(for_clients, "clients", 8, "how many clients begin at once")
    _number(for_clients, "jobs", 10, "how many jobs each one makes")
    _number(for_clients, "kills", 6, "how many of them are killed, one after the other")
    _number(for_clients, "seconds", 12.0, "over which slots fall due and clients are killed")
    _number(for_clients, "patience", 60.0, "seconds after that until everything must be settled")
    _number(for_clients, "lease", 2.0, "seconds without a heartbeat after which a server is given up")
    _number(for_clients, "seed", 1, "of the random choices")
    for_deliver = scenarios.add_parser("deliver", help="kill -9 while delivering", description=deliver.__doc__)
    _number(for_deliver, "runs", 20_000, "how many slots fall due, half of them webhooks, half prompts")
    _number(for_deliver, "workers", 4, "how many worker processes")
    _number(for_deliver, "kill-every", 1.0, "seconds between two kills of a worker; 0 for none")
    _number(for_deliver, "duration", 120.0, "seconds over which slots fall due")
    _number(for_deliver, "patience", 180.0, "seconds after that until everything must be settled")
    _number(for_deliver, "lease", 5.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_deliver, "inbox-lease", 4.0, "seconds after which a prompt that was read is handed out again")
    _number(for_deliver, "dies", 0.06, "how often an agent dies instead of acknowledging")
    _number(for_deliver, "silence", 11.0, "seconds after which a silent receiver answers, too late")
    _number(for_deliver, "seed", 1, "of the random choices")
    for_deploys = scenarios.add_parser("deploys", help="schedules in code", description=deploys.__doc__)
    _number(for_deploys, "schedules", 500, "how many the program declares")
    _number(for_deploys, "deploys", 20, "how many versions of it follow each other")
    _number(for_deploys, "seed", 1, "of the random choices")
    for_limits = scenarios.add_parser("limits", help="limits of tasks, workers killed", description=limits.__doc__)
    _number(for_limits, "narrow", 20_000, "how many runs of a task of which five may be under way")
    _number(for_limits, "asking", 300, "how many runs of a task that is limited by the minute")
    _number(for_limits, "per-minute", 100, "that limit")
    _number(for_limits, "workers", 4, "how many worker processes")
    _number(for_limits, "kill-every", 10.0, "seconds between two kills of a worker; 0 for none")
    _number(for_limits, "patience", 600.0, "seconds until everything must be settled")
    _number(for_limits, "lease", 2.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_limits, "seed", 1, "of the random choices")
    for_enqueue = scenarios.add_parser("enqueue", help="runs made in transactions", description=enqueue.__doc__)
    _number(for_enqueue, "runs", 10_000, "how many transactions enqueue one; half are rolled back")
    _number(for_enqueue, "programs", 8, "how many transactions are open at once")
    _number(for_enqueue, "workers", 4, "how many worker processes")
    _number(for_enqueue, "kill-every", 1.0, "seconds between two kills of a worker; 0 for none")
    _number(for_enqueue, "patience", 60.0, "seconds after the last transaction until everything must be settled")
    _number(for_enqueue, "lease", 5.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_enqueue, "seed", 1, "of the random choices")
    _read_failover(scenarios.add_parser("failover", help="move the primary of a cluster", description=failover.__doc__))
    for_upgrade = scenarios.add_parser("upgrade", help="two versions side by side", description=upgrade.__doc__)
    _number(for_upgrade, "fires", 10_000, "how many slots fall due, beside those of the jobs made meanwhile")
    _number(for_upgrade, "workers", 4, "how many worker processes")
    _number(for_upgrade, "duration", 36.0, "seconds over which slots fall due")
    _number(for_upgrade, "patience", 60.0, "seconds after that until everything must be settled")
    _number(for_upgrade, "lease", 5.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_upgrade, "jobs", 20, "how many jobs are made through a door at a time")
    _number(for_upgrade, "seed", 1, "of the random choices")
    for_suspend = scenarios.add_parser("suspend", help="everything sleeps and wakes", description=suspend.__doc__)
    _number(for_suspend, "times", 20, "how often")
    _number(for_suspend, "asleep", 4.0, "leases that pass meanwhile")
    _number(for_suspend, "awake", 5.0, "seconds in between")
    _number(for_suspend, "lease", 2.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_suspend, "workers", 3, "how many worker processes")
    _number(for_suspend, "fires", 3000, "how many slots fall due")
    _number(for_suspend, "seed", 1, "of the random choices")
    for_backup = scenarios.add_parser("backup", help="pg_dump over a week's end", description=backup.__doc__)
    _number(for_backup, "runs", 5_000_000, "how many runs of history there are")
    _number(for_backup, "rate", 200, "how many slots fall due in a second")
    _number(for_backup, "workers", 3, "how many worker processes")
    _number(for_backup, "before", 60.0, "seconds of firing to compare with")
    _number(for_backup, "lead", 15.0, "seconds from the beginning of the backup to the end of the week")
    _number(for_backup, "held", 0.0, "seconds that a snapshot is held, instead of a backup")
    _number(for_backup, "prune-every", 5.0, "seconds after which each worker makes and drops weeks again")
    _number(for_backup, "patience", 120.0, "seconds that each thing may take which has to happen")
    _number(for_backup, "allowance", 0.0, "seconds of lag that are the machine's")
    _number(for_backup, "seed", 1, "of the random choices")
    for_restore = scenarios.add_parser("restore", help="a frozen copy of production", description=restore.__doc__)
    _number(for_restore, "fires", 5000, "how many slots fall due")
    _number(for_restore, "workers", 2, "how many worker processes production has, and its copy")
    _number(for_restore, "duration", 30.0, "seconds over which slots fall due")
    _number(for_restore, "dump-at", 8.0, "seconds until the dump is taken")
    _number(for_restore, "frozen", 10.0, "seconds that the copy stays frozen with workers on it")
    _number(for_restore, "lease", 3.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_restore, "patience", 60.0, "seconds after the last slot until everything must be settled")
    _number(for_restore, "seed", 1, "of the random choices")
    for_alerts = scenarios.add_parser("alerts", help="a Prometheus watches faults", description=alerts.__doc__)
    _number(for_alerts, "workers", 3, "how many worker processes, beside a server")
    _number(for_alerts, "jobs", 30, "how many jobs of two seconds each")
    _number(for_alerts, "lease", 10.0, "seconds without a heartbeat after which a worker is given up")
    _number(for_alerts, "scrape-every", 5, "seconds between two looks of Prometheus")
    _number(for_alerts, "fires-within", 120.0, "seconds that an alert may take")
    _number(for_alerts, "clears", 400.0, "seconds that an alert may take to clear")
    _number(for_alerts, "port", 19125, "the first port")
    for_year = scenarios.add_parser("year", help="tables stop growing", description=year.__doc__)
    _number(for_year, "weeks", 52, "how many weeks go by")
    _number(for_year, "jobs", 20, "how many jobs of each kind are made in each")
    for_life = scenarios.add_parser("life", help="a simulated life, from a seed", description=life.__doc__)
    _number(for_life, "steps", 50_000, "how many steps, divided among the seeds")
    for_life.add_argument("--seed", "--seeds", dest="seeds", type=life.read_seeds, default=(7,), help="7, or 1-60")
    for_life.add_argument("--replay", action="store_true", help="print every statement and what it changed")
    for_life.add_argument(
        "--shrink", action="store_true", help="leave out what isn't needed to break it, and print that"
    )
    _number(for_life, "budget", 120.0, "seconds for shrinking")
    _number(for_life, "processes", 1, "lives side by side, each on a core of its own")
    for name, meaning in (("only", "promises to look at: overlap,untrue"), ("no", "faults to leave out: cut,restore")):
        for_life.add_argument(f"--{name}", type=life.read_names, default=(), metavar="NAMES", help=meaning)
    for_life.add_argument("--go-on", action="store_true", help="don't stop at the first broken promise of a seed")
    for_life.add_argument("--without-mend", choices=life.MENDS, help="put a fault back that was mended")
    return parser.parse_args()


def _read_failover(parser: argparse.ArgumentParser) -> None:
    usual = failover.Plan()
    kinds = "; ".join(f"{name}: {event.__doc__}" for name, event in EVENTS.items())
    parser.add_argument("--events", default=usual.events, help=f"what happens, as in {usual.events}. {kinds}")
    parser.add_argument("--async", dest="sync", action="store_false", help="replicate asynchronously")
    parser.add_argument("--attrs", default=usual.attrs, help="target_session_attrs of the workers' URL")
    parser.add_argument("--user", default=usual.user, help="the system user that runs PostgreSQL")
    parser.add_argument(
        "--pg-bin", default="", help="where PostgreSQL's programs are (default: the newest of Debian's)"
    )
    parser.add_argument("--folder", default="", help="a new folder to keep logs and traces in; others can enter it")
    _number(parser, "jobs", usual.jobs, "how many jobs, of about 16 s each")
    _number(parser, "workers", usual.workers, "how many worker processes, beside a server")
    _number(parser, "lease", usual.lease, "seconds without a heartbeat after which a worker is given up")
    _number(parser, "ttl", usual.ttl, "Patroni's ttl")
    _number(parser, "loop-wait", usual.loop_wait, "Patroni's loop_wait and retry_timeout")
    _number(parser, "lag", usual.lag, "seconds that replicas are behind at a lagkill")
    _number(parser, "frozen", usual.frozen, "seconds of a freeze or a zombie")
    _number(parser, "rest", usual.rest, "seconds between a whole cluster and the verdict")
    _number(parser, "patience", usual.patience, "seconds after that until everything must be settled")
    _number(parser, "port", usual.port, "the first port")


def _number(parser: argparse.ArgumentParser, name: str, default: float, meaning: str) -> None:
    kind = int if isinstance(default, int) else float
    parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{meaning} (default {default:g})")


def perform(asked: argparse.Namespace) -> dict[str, Any]:
    given = {name: value for name, value in vars(asked).items() if name != "scenario"}
    scenario = SCENARIOS[asked.scenario]
    return scenario.run(scenario.Plan(**given))


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit("told to stop")


def main() -> None:
    asked = read_arguments()
    signal.signal(signal.SIGTERM, _leave)  # so that everything is cleaned up
    figures = perform(asked)
    print(json.dumps(figures), flush=True)
    sys.exit(1 if figures["broken"] else 0)


if __name__ == "__main__":
    main()
