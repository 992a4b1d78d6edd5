"""Every log event in one place, so that a name means the same thing everywhere."""

import logging

log = logging.getLogger("cronty")


def step_failed(duty: str, error: Exception, failures: int) -> None:
    """Said aloud the first time and then ever more rarely: an outage is one story, not a thousand."""
    if failures & (failures - 1) == 0:
        expected = type(error).__name__ == "StoreUnavailable"
        log.log(
            logging.WARNING if expected else logging.ERROR,
            "%s failed %d time(s) in a row: %s",
            duty,
            failures,
            error,
            exc_info=None if expected else error,
        )


def worker_started(worker: int, tasks: int) -> None:
    log.info("worker %d started with %d task(s)", worker, tasks)


def worker_stopped(worker: int, unfinished: int) -> None:
    log.info("worker %d stopped, %d run(s) handed over", worker, unfinished)


def renamed(worker: int, successor: int) -> None:
    log.warning("worker %d lost its lease, or an answer about its claims, and goes on as worker %d", worker, successor)


def handed_back(worker: int, runs: int) -> None:
    log.warning("%d run(s) were claimed by worker %d without its knowing, and handed back", runs, worker)


def settlement_refused(outcomes: int, error: Exception) -> None:
    log.error("%d outcome(s) could not be written together and are written one by one", outcomes, exc_info=error)


def superseded(count: int) -> None:
    log.warning("%d outcome(s) came too late and were recorded as superseded", count)


def rescued(workers: int, runs: int, quarantined: int) -> None:
    log.warning("%d worker(s) gone: %d run(s) rescued, %d quarantined", workers, runs, quarantined)


def zones_outdated(mine: str, newest: str) -> None:
    log.error("this process has tzdata %s and the fleet has %s: it fires nothing until it is upgraded", mine, newest)


def jobs_retimed(moves: int, version: str) -> None:
    log.warning("%d job(s) moved to the slots of tzdata %s", moves, version)


def job_set_aside(job_id: int, reason: str) -> None:
    log.error("job %d set aside: %s", job_id, reason)


def job_paused(job_id: int, reason: str) -> None:
    log.warning("job %d paused: %s", job_id, reason)


def limit_reached(owner_id: int, said: str) -> None:
    log.warning("owner %d reached a limit: %s", owner_id, said)


def released_stuck(count: int) -> None:
    log.warning("%d run(s) waited behind runs that were over", count)


def migration_waits(name: str, patience: float) -> None:
    log.warning("%s waits for a table that something else holds; it is tried again for up to %.0f s", name, patience)


def schema_newer(names: list[str]) -> None:
    log.warning(
        "the database has migrations of a newer version (%s), beside which this one keeps working", ", ".join(names)
    )


def schema_refused(problem: Exception) -> None:
    log.error("this process stops: %s", problem)
