"""Most log messages, in one place."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

log = logging.getLogger("cronty")


class Outage:
    """Logs an outage of the database as two messages: when it begins and when it ends.

    It ends when nothing has failed for a while: if the server's disk is full, only some statements fail.
    """

    QUIET_FOR: Final = 5.0
    NOTHING: Final = 0.1
    """Seconds below which the server wasn't away: a connection was lost, and the next one worked."""
    BEGAN = "%s (trying again; this is logged once)"
    OVER = "PostgreSQL works again%s"

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._failed = 0.0
        self._worked: float | None = None
        self.when_it_fails: Callable[[], None] = lambda: None

    def fault(self, error: BaseException) -> None:
        self._failed, self._worked = self._clock(), None
        if self._began is None:
            self._began = self._failed
            log.warning(self.BEGAN, error)
        self.when_it_fails()

    def fine(self) -> None:
        """Something succeeded."""
        if self._began is None:
            return
        now = self._clock()
        self._worked = now if self._worked is None else self._worked
        if now - self._failed >= self.QUIET_FOR:
            lasted = self._worked - self._began
            log.warning(self.OVER, f", after {lasted:.1f} s" if lasted >= self.NOTHING else "")
            self._began = None


class LocalOutage(Outage):
    """The same for the local server, which comes back by itself."""

    BEGAN = "The local PostgreSQL can't be reached, and is started again if it is gone%.0s (this is logged once)"


class ReplicaOutage(Outage):
    """The same for the replica, which isn't needed: the primary answers instead."""

    BEGAN = "The replica can't be used: %s (the primary answers instead; this is logged once)"
    OVER = "The replica is used again%s"


def step_failed(duty: str, error: Exception, failures: int) -> None:
    """Logged for the first, second, fourth, eighth … failure in a row."""
    if failures & (failures - 1) == 0:
        log.error("%s failed %d time(s) in a row: %s", duty, failures, error, exc_info=error)


def duty_ended(duty: str, error: BaseException) -> None:
    log.critical("%s has ended, and this process must be restarted: %s", duty, error, exc_info=error)


def step_busy(duty: str, error: Exception, failures: int) -> None:
    if failures & (failures - 1) == 0:
        log.warning("%s failed %d time(s) in a row: %s", duty, failures, error)


def hand_over_failed(count: int, error: str, failures: int) -> None:
    """Logged for the first, second, fourth, eighth … failure in a row."""
    if failures & (failures - 1) == 0:
        log.warning("%d notification(s) couldn't be handed over to ntfy or taken back (tried again): %s", count, error)


def worker_started(worker: int, tasks: int) -> None:
    log.info("worker %d started with %d task(s)", worker, tasks)


def probes_listen(host: str, port: int) -> None:
    log.info("metrics at http://%s:%d/metrics, probes at /health and /ready", host, port)


def spans_go_nowhere() -> None:
    log.warning("OpenTelemetry's variables ask for spans, and nothing here can send them: pip install 'cronty[otel]'")


_told_of_spans: list[str] = []


def spans_failed(error: Exception) -> None:
    """Logged once: it would be so for every run."""
    if not _told_of_spans:
        _told_of_spans.append(str(error))
        log.error("spans can't be made, and runs go on without (this is logged once)", exc_info=error)


def port_taken(port: int) -> None:
    log.error(
        "port %d is taken by another program: jobs fire, but the dashboard, REST and MCP can't be reached. "
        "It is tried again until it is free (this is logged once)",
        port,
    )


def port_free(port: int) -> None:
    log.warning("port %d is ours again", port)


def worker_stopped(worker: int, unfinished: int) -> None:
    log.info("worker %d stopped, %d run(s) handed over", worker, unfinished)


def frozen(*, over: bool) -> None:
    if over:
        log.warning("the installation is thawed: what is due is fired again")
    else:
        log.warning("the installation is frozen: nothing fires until `cronty thaw`")


def threads_hang(threads: int, *, over: bool) -> None:
    if over:
        log.warning("plain functions are performed again: a thread has come back")
    else:
        log.error("all %d threads hold functions past their timeout: this worker performs only coroutines", threads)


def loop_blocked(seconds: float, who: str) -> None:
    log.error("the event loop has been blocked for %.1f s by %s; its lease is kept alive meanwhile", seconds, who)


def loop_turns_again(seconds: float) -> None:
    log.warning("the event loop turns again, after about %.1f s", seconds)


def loop_given_up(seconds: float, who: str, *, ends: bool) -> None:
    then = "this process ends" if ends else "other workers perform its runs"
    log.critical("the event loop has been blocked for %.1f s by %s; %s", seconds, who, then)


def lease_not_kept(error: Exception) -> None:
    log.error("the lease of a blocked event loop could not be renewed (tried again): %s", error)


def renamed(worker: int, successor: int) -> None:
    log.warning("worker %d lost its lease or the answer to a claim, and continues as worker %d", worker, successor)


def handed_back(worker: int, runs: int) -> None:
    log.warning("%d run(s) claimed by worker %d in a transaction whose answer was lost are handed back", runs, worker)


def settlement_refused(outcomes: int, error: Exception) -> None:
    log.error("%d outcome(s) could not be written together and are written one by one", outcomes, exc_info=error)


def settlement_kept(job_id: int, error: Exception) -> None:
    log.error("an outcome of job %d could not be written; it is kept and tried again", job_id, exc_info=error)


def superseded(count: int) -> None:
    log.warning("%d outcome(s) came too late and were recorded as superseded", count)


def rescued(workers: int, runs: int, quarantined: int) -> None:
    log.warning("%d worker(s) gone: %d run(s) rescued, %d quarantined", workers, runs, quarantined)


def zones_left(zones: Sequence[str], mine: str) -> None:
    log.warning("tzdata %s is older than that of other workers: jobs in %s are left to them", mine, ", ".join(zones))


def jobs_retimed(moves: int, version: str) -> None:
    log.warning("%d job(s) moved to the slots of tzdata %s", moves, version)


def holidays_renewed(name: str) -> None:
    log.info("public holidays of %s made again", name)


def calendar_followed(name: str, moves: int) -> None:
    log.info("%d job(s) moved by the changed calendar %s", moves, name)


def job_set_aside(job_id: int, reason: str) -> None:
    log.error("job %d set aside: %s", job_id, reason)


def job_paused(job_id: int, reason: str) -> None:
    log.warning("job %d paused: %s", job_id, reason)


def limit_reached(owner_id: int, reason: str) -> None:
    log.warning("owner %d reached a limit: %s", owner_id, reason)


def released_lines(count: int) -> None:
    log.info("%d run(s) waited behind runs that had ended, and were released", count)


def schedules_synced(program: str, steps: Sequence[tuple[str, str]]) -> None:
    """Each change of a schedule that is declared in code, with its name; `same` is none."""
    for change, name in steps:
        if change == "gone":
            log.warning("schedule %s: gone, because the program %s doesn't declare it (any more)", name, program)
        elif change not in ("same", "other"):
            log.info("schedule %s: %s", name, change)
    if others := [name for change, name in steps if change == "other"]:
        log.warning(
            "%s: declared by another program that is called %s too, and left alone; give each a name of its own, "
            'Cronty(program="…")',
            ", ".join(others[:10]),
            program,
        )


def task_names_shared(names: Sequence[str]) -> None:
    log.warning(
        "task %s: a living worker has it from another folder, or with other parameters or another description. Workers "
        'take runs by the task\'s name: if that is another program, rename one, @cronty.task(name="shop.%s"); if it is '
        'another version of this one, give it a name, Cronty(program="shop"), and this is said no more',
        ", ".join(names[:10]),
        names[0],
    )


def turn_not_given(what: str, patience: float) -> None:
    log.warning("another process has been busy with the %s for %.0f s; going on beside it", what, patience)


def migration_waits(name: str, patience: float) -> None:
    log.warning("%s waits for a table that something else holds; it is tried again for up to %.0f s", name, patience)


def login_almighty() -> None:
    log.info(
        "the user in CRONTY_DATABASE_URL is a superuser or bypasses row-level security; a plain role is enough "
        "(docs/how-to/production.md)"
    )


def schema_newer(names: list[str]) -> None:
    log.warning(
        "the database has migrations of a newer version (%s), which this version can work with", ", ".join(names)
    )


def schema_refused(problem: Exception) -> None:
    log.error("this process stops: %s", problem)
