"""Gives ntfy notifications ahead of their time, and takes back what isn't to ring any more.

What is about to be done is written down first, and each notification has the id of its run at ntfy: whoever is killed
in between leaves something that can be repeated. What couldn't be given is sent at its time, as if nobody had tried.
What couldn't be taken back is tried again until its time has come, and then its owner is told.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.actions.notify import Notify
from cronty.actions.tasks import CurrentRun, PermanentError, RetryAfter
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST
from cronty.jobs.ahead import Place, Planned, Step, decide, slots_ahead
from cronty.jobs.alerts import Alert
from cronty.jobs.moments import local_text
from cronty.jobs.run import message_id
from cronty.store.ahead_store import AheadStore, Given, JobAhead, Page
from cronty.store.sealing import Sealer

JOBS: Final = 200
CALLS: Final = 10
"""The most calls of one step."""

LEASE: Final = 60.0
PATIENCE: Final = 20.0
"""Seconds for one call; shorter than the lease."""

REST: Final = 5.0
NEXT_MINUTE: Final = 60.0
AFTER_A_REFUSAL: Final = 3600.0
"""Seconds until what ntfy refused is offered again: its limits may be by the day."""

_TOO_MANY: Final = "Too many calls in this minute."
_LOCKED: Final = "No key opens its channel any more."


@dataclass(frozen=True, slots=True)
class Ahead:
    """What it takes: a way to ntfy, and the key to the channels."""

    notify: Notify
    sealer: Sealer | None


class HandingOver:
    """Every engine does it. It reads a page of jobs at each step, and makes few calls."""

    def __init__(self, store: AheadStore, notify: Notify, limiting: Limiting) -> None:
        self._store = store
        self._notify = notify
        self._limiting = limiting
        self._after = 0
        self._failures = 0
        self._began = 0.0
        self._used = False

    @property
    def in_a_hurry(self) -> bool:
        """Whether a new job should be looked at at once: there are channels for it, and it wasn't looked just now."""
        return self._used and monotonic() - self._began > 1

    async def step(self) -> float:
        """Bring ntfy in line with a page of jobs; seconds until the next, 0 if there is more."""
        self._began = monotonic()
        page = await self._store.page(self._after, JOBS)
        if page is None:
            self._after, more = 0, self._after > 0
            self._used = more or await self._store.is_used()
            return 0 if more else REST if self._used else MAX_REST
        self._used = True
        steps = decide(_planned(page), page.handed, page.now)
        if steps:
            await self._carry_out(page, steps[:CALLS])
        if len(steps) > CALLS:
            return 0
        self._after = page.after
        return 0 if page.after else REST

    async def _carry_out(self, page: Page, steps: Sequence[Step]) -> None:
        told = [step.place for step in steps if step.what == "tell"]
        wanted = {step.place: _wanted(page, step) for step in steps if step.what != "tell"}
        held = await self._held(page, wanted)
        mine = await self._store.begin(list(wanted.values()), LEASE) if wanted else set[Place]()
        calls = [(step, wanted[step.place]) for step in steps if step.place in mine]
        ended = await asyncio.gather(*(self._call(page, step, one, held) for step, one in calls))
        kept = [one for one in ended if isinstance(one, Given)]
        gone = [one for one in ended if not isinstance(one, Given)]
        self._log(kept, calls=len(calls))
        await self._store.settle(kept, [*gone, *told], [self._alert(page, place) for place in told])

    async def _held(self, page: Page, wanted: Mapping[Place, Given]) -> set[Place]:
        """Those that must wait for the next minute, the last ones of each owner."""
        calls = Counter(one.owner_id for one in wanted.values())
        over = Counter(await self._limiting.calls_over(calls, page.now)) if calls else Counter[int]()
        held: set[Place] = set()
        for place, one in reversed(list(wanted.items())):
            if over[one.owner_id] > 0:
                over[one.owner_id] -= 1
                held.add(place)
        return held

    async def _call(self, page: Page, step: Step, given: Given, held: set[Place]) -> Given | Place:
        """What ntfy has or may have now; just the place if it hasn't got it any more."""
        before = page.given.get(step.place)
        failed = given._replace(state="taking" if step.what == "delete" else "failed")
        if step.place in held:
            return failed._replace(wait=NEXT_MINUTE, error=_TOO_MANY)
        url = self._store.url(given.owner_id, given.target)
        if url is None:
            return failed._replace(wait=AFTER_A_REFUSAL, error=_LOCKED)
        usual = min(30.0 * 2 ** min(before.tries if before is not None and before.error else 0, 5), 600.0)
        try:
            async with asyncio.timeout(PATIENCE):
                await self._exchange(page, step, given, url)
        except RetryAfter as error:
            return failed._replace(wait=max(usual, error.wait.total_seconds()), error=str(error))
        except PermanentError as error:
            return failed._replace(wait=AFTER_A_REFUSAL if step.what != "delete" else usual, error=str(error))
        except TimeoutError:
            return failed._replace(wait=usual, error=f"Timeout: it took longer than {PATIENCE:g} s")
        return step.place if step.what == "delete" else given._replace(state="held")

    async def _exchange(self, page: Page, step: Step, given: Given, url: str) -> None:
        job_id, slot = step.place
        job = page.jobs[job_id].job
        if step.what == "delete":
            await self._notify.take_back(url, message_id(job_id, slot), job.owner)
            return
        run = CurrentRun(given.owner_id, job_id, job.number, slot, 1)
        await self._notify.hand_over(url, run, job.owner, job.action.kwargs)

    def _alert(self, page: Page, place: Place) -> Alert:
        given, job = page.given[place], page.jobs[place[0]].job
        why = given.error or "nobody answered."
        message = f"{job.name}, planned for {local_text(place[1], job.zone)}, was to be taken back from ntfy: {why}"
        topic = self._limiting.topic_of(given.owner_id) or given.target.name
        return Alert(given.owner_id, job.id, topic, "A reminder may have rung that shouldn't", message)

    def _log(self, kept: Sequence[Given], *, calls: int) -> None:
        errors = [one.error for one in kept if one.error]
        self._failures = self._failures + 1 if errors else 0 if calls else self._failures
        if errors:
            telemetry.hand_over_failed(len(errors), errors[0], self._failures)


def _planned(page: Page) -> dict[Place, Planned]:
    return {
        (one.job.id, slot): Planned(one.job.version, one.target.sealed)
        for one in page.jobs.values()
        if one.target is not None and _is_plain(one)
        for slot in slots_ahead(one.job, page.now)
    }


def _is_plain(one: JobAhead) -> bool:
    """Whether ntfy can send it at its slot as it stands. What is spread over time isn't sent at its slot."""
    job = one.job
    return job.state == "active" and job.deleted_at is None and not job.action.args and job.policy.spread < 1


def _wanted(page: Page, step: Step) -> Given:
    """What is to be at ntfy afterwards; for what is taken back, what was given."""
    if step.what == "delete":
        return page.given[step.place]._replace(state="taking", error=None)
    one = page.jobs[step.place[0]]
    assert one.target is not None
    return Given(step.place, one.owner_id, one.target, one.job.version, "giving")
