"""Gives ntfy notifications ahead of their time, and takes back what isn't to ring any more.

What ntfy is to be given is planned from the jobs, and written down before it is: whoever is killed in between leaves
something that can be repeated, because each message has an id of its own at ntfy. A call whose answer was lost may be
carried out late. So an id that was to be taken back is never used again, neither for another message nor by the run.
New words don't replace old ones that may still arrive, and what may still arrive is taken back once more when it can't.
And nobody makes a call that another engine may have made meanwhile.

Each call is claimed for a minute, and a server that doesn't answer holds up nobody but those who use it: each owner has
a share and its turn, and each server at most half. What couldn't be given is sent at its time, as if nobody had tried.
What couldn't be taken back is tried again until its time has come, and then its owner is told.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cronty import telemetry
from cronty.actions.notify import Notify
from cronty.actions.ntfy import NotNtfy
from cronty.actions.outbound import CallFailed
from cronty.actions.tasks import CurrentRun, PermanentError, RetryAfter
from cronty.engine.lease import since_boot
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST
from cronty.engine.sending import Sending
from cronty.jobs.ahead import NEAREST, slots_ahead
from cronty.jobs.alerts import Alert
from cronty.jobs.moments import local_text
from cronty.jobs.run import message_id
from cronty.store.ahead_store import LEASE, AheadStore, Call, Ended
from cronty.store.sealing import Sealer

JOBS: Final = 200
CALLS: Final = 40
"""How many calls this process makes at once; half of them to one server."""

SHARE: Final = 5
"""How many of one owner."""

PATIENCE: Final = 20.0
"""Seconds for one call; shorter than the lease."""

REST: Final = 5.0
LIGHT: Final = 20
"""At most 1/LIGHT of the time goes into looking, but look at least every LONGEST_REST seconds."""

LONGEST_REST: Final = 10.0

WALK_EVERY: Final = timedelta(hours=1)
"""Time until every job is planned again: the window has moved, and perhaps the days off."""

NEXT_MINUTE: Final = 60.0
AFTER_A_REFUSAL: Final = 3600.0
"""Seconds until what ntfy refused is offered again: its limits may be by the day."""

LAST_TRY: Final = 5.0
"""Seconds between the last tries, when a slot is near."""

_TOO_MANY: Final = "Too many calls in this minute."
_LOCKED: Final = "No key opens its channel any more."


@dataclass(frozen=True, slots=True)
class Ahead:
    """What it takes: a way to ntfy, and the key to the channels."""

    notify: Notify
    sealer: Sealer | None


class HandingOver:
    """Every engine does it."""

    def __init__(self, store: AheadStore, notify: Notify, limiting: Limiting) -> None:
        self._store = store
        self._notify = notify
        self._limiting = limiting
        self._sending = Sending("hand over", self._settle, CALLS, SHARE)
        self._failures = 0
        self._after = 0
        """The job after which is planned next; 0 for the first."""
        self._back: int | None = None
        """The message after which is looked at next, while there are some to be looked at."""
        self._took = 0.0
        self._look_at = 0.0
        self._rest = MAX_REST
        """Seconds until the next claim at the latest; nothing is claimed where nobody uses it."""
        self._walk_at = datetime.min.replace(tzinfo=UTC)
        self._walking = False
        self._served: set[int] = set()
        """Owners that had their turn, until all have."""
        self._behind: dict[int, str] = {}
        """Owners that wait for their server: it has as many calls under way as it may have."""
        self._limited: dict[int, datetime] = {}
        """Owners that have made too many calls in this minute, and until when they give nothing."""

    async def step(self) -> float:
        """Look for changes if it is time, and make some calls; seconds until the next step, 0 if there may be more."""
        await self._sending.settle()
        failed: Exception | None = None
        try:
            if monotonic() >= self._look_at:
                await self._look()
        except Exception as error:  # the calls are made all the same
            failed = error
        await self._claim()
        if failed is not None:
            raise failed
        if not self._sending.is_empty:
            await self._sending.wait()
            return 0
        left = self._look_at - monotonic()
        if left <= self._rest:
            self._look_at = 0.0  # the next step comes when it is time
        return max(0.0, min(left, self._rest))

    async def finish(self, patience: float) -> None:
        """Wait for the calls that are on their way; another engine makes the others again."""
        await self._sending.finish(patience)

    # -- planning -----------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Plan a page of the jobs that are to be given; after the last, take back what isn't to ring any more, by pages
        too. One that fails keeps none of the others waiting."""
        began = monotonic()
        if not self._after and self._back is None:
            now = await self._store.now_if_used()
            self._rest = MAX_REST if now is None else REST
            if now is None:
                self._look_at = began + MAX_REST
                return
            self._took = 0.0
            self._walking = now >= self._walk_at
        usual_limit = self._limiting.usual_runs_per_hour
        try:
            if self._back is None:
                await self._plan(usual_limit)
        finally:
            if not self._after:
                self._back = await self._store.take_back(self._back or 0, usual_limit)
            self._took += monotonic() - began
            ended = not self._after and self._back is None
            self._look_at = monotonic() + (rest_after(self._took) if ended else 0)

    async def _plan(self, usual_limit: int) -> None:
        jobs = await self._store.jobs(self._after, JOBS, usual_limit, every=self._walking)
        self._after = jobs[-1].job.id if len(jobs) == JOBS else 0
        if jobs:
            if self._walking:
                self._walk_at = jobs[-1].now + WALK_EVERY
            await self._store.plan([(one, slots_ahead(one.job, one.now)) for one in jobs])

    # -- calling ------------------------------------------------------------------------------------------------

    async def _claim(self) -> None:
        """Start calls of owners whose turn it is."""
        began = since_boot()
        calls = await self._whose_turn()
        self._served.update(call.owner_id for call in calls)
        over = await self._over(calls)
        for call in reversed(calls):  # what is over the limit are the last ones of each owner
            held = call.state == "giving" and over[call.owner_id] > 0
            over[call.owner_id] -= held
            self._start(call, began, held=held)

    async def _whose_turn(self) -> list[Call]:
        free, full = self._sending.free, self._sending.full()
        self._behind = {owner: server for owner, server in self._behind.items() if server in full}
        waiting = [*self._sending.busy(), *self._behind]
        calls = await self._store.claim(free, SHARE, [*self._served, *waiting], self._limited) if free else []
        if free and not calls and self._served:  # all had their turn
            self._served.clear()
            calls = await self._store.claim(free, SHARE, waiting, self._limited)
        if calls:
            self._limited = {owner: until for owner, until in self._limited.items() if until > calls[0].now}
        return calls

    def _start(self, call: Call, began: float, *, held: bool) -> None:
        url = self._store.url(call.owner_id, call.target)
        server = "" if url is None else urlsplit(url).netloc.rpartition("@")[2]
        if call.place[1] <= call.now:
            self._sending.start(call.owner_id, self._too_late(call))
        elif server in self._sending.full():
            self._behind[call.owner_id] = server
            self._sending.start(call.owner_id, _put_off(call, 0.0))
        else:
            self._sending.start(call.owner_id, self._end(call, url, began, held=held), server)

    async def _over(self, calls: Sequence[Call]) -> Counter[int]:
        """How many calls of each owner must wait for the next minute. Those that must not ring never do."""
        given = Counter(call.owner_id for call in calls if call.state == "giving")
        over = Counter(await self._limiting.calls_over_half(given, calls[0].now)) if given else Counter[int]()
        for owner_id in +over:
            self._limited[owner_id] = calls[0].now + timedelta(seconds=NEXT_MINUTE)
        return over

    async def _too_late(self, call: Call) -> Ended:
        """Its time has come: its run sends it under its id, unless it isn't to ring any more."""
        if call.coming:
            return await _put_off(call, LAST_TRY)
        wrong = call.was_there and (call.state == "taking" or call.kwargs is None)
        alert = self._alert(call) if wrong else None
        return (await _put_off(call, None))._replace(gone=call.name is None, alert=alert)

    async def _end(self, call: Call, url: str | None, began: float, *, held: bool) -> Ended:
        taking = call.state == "taking"
        if not call.was_there and call.was_arriving is None and (taking or call.place[1] - call.now <= NEAREST):
            return Ended(call, gone=True)
        if not taking and call.kwargs is None:
            return await _put_off(call, REST)  # it has changed; a plan follows
        if held:
            return await _put_off(call, NEXT_MINUTE, _TOO_MANY)
        if url is None:
            return _failed(call, _LOCKED, AFTER_A_REFUSAL)
        if since_boot() - began > LEASE - PATIENCE:  # this process stood still; another may have made it
            return await _put_off(call, 0.0)
        return await (self._take_back if taking else self._give)(call, url)

    async def _give(self, call: Call, url: str) -> Ended:
        job_id, slot = call.place
        run = CurrentRun(call.owner_id, job_id, call.job_number, slot, 1)
        sequence = message_id(job_id, slot, call.id)
        failed = await self._called(
            call, self._notify.hand_over(url, run, call.owner, call.kwargs or {}, sequence), AFTER_A_REFUSAL
        )
        if failed is None:
            return Ended(call, held=True, there=True, arriving=call.was_arriving)
        return failed.ended._replace(
            there=call.was_there or failed.arrived,
            arriving=call.arriving_until if failed.arrived else call.was_arriving,
        )

    async def _take_back(self, call: Call, url: str) -> Ended:
        sequence = message_id(*call.place, call.id)
        failed = await self._called(call, self._notify.take_back(url, sequence, call.owner), 0.0)
        if failed is not None:
            return failed.ended._replace(recalled=call.was_recalled or failed.arrived)
        if call.was_arriving is None or call.was_arriving <= call.now:
            return Ended(call, gone=True)
        left = (call.was_arriving - call.now).total_seconds()
        return Ended(call, recalled=True, arriving=call.was_arriving, wait=left)  # and again when nothing can follow

    async def _called(self, call: Call, exchange: Awaitable[None], refused: float) -> "_Failure | None":
        """Make a call; None if it went well. `refused`: seconds until what was refused is tried again, at the least."""
        usual = min(30.0 * 2 ** min(call.failures, 5), 600.0)
        try:
            async with asyncio.timeout(PATIENCE):
                await exchange
        except RetryAfter as error:
            arrived = not isinstance(error, CallFailed) or error.arrived
            return _Failure(_failed(call, str(error), max(usual, error.wait.total_seconds())), arrived)
        except PermanentError as error:
            return _Failure(_failed(call, str(error), max(usual, refused)), isinstance(error, NotNtfy))
        except TimeoutError:
            return _Failure(_failed(call, f"Timeout: it took longer than {PATIENCE:g} s", usual), arrived=True)
        return None

    def _alert(self, call: Call) -> Alert | None:
        """None if its owner is gone, or if its run was sent instead."""
        if call.name is None or call.zone is None or call.replaced:
            return None
        why = call.error or "it was too late."
        message = (
            f"{call.name}, planned for {local_text(call.place[1], call.zone)}, was to be taken back from ntfy: {why}"
        )
        topic = self._limiting.topic_of(call.owner_id) or call.target.name
        return Alert(call.owner_id, call.place[0], topic, "A reminder may have rung that shouldn't", message)

    async def _settle(self, ended: list[Ended]) -> None:
        await self._store.settle(ended)
        errors = [one.error for one in ended if one.failed and one.error]
        self._failures = self._failures + 1 if errors else 0
        if errors:
            telemetry.hand_over_failed(len(errors), errors[0], self._failures)


class _Failure(NamedTuple):
    """`arrived`: ntfy may have got the call, or may get it yet."""

    ended: Ended
    arrived: bool


def rest_after(took: float) -> float:
    """Seconds until the next look for changes, if this one took so many."""
    return min(max(REST, LIGHT * took), LONGEST_REST)


async def _put_off(call: Call, wait: float | None, error: str | None = None) -> Ended:
    """Nobody was called, so all is as it was."""
    wait = None if wait is None else _in_time(call, wait)
    return Ended(
        call, there=call.was_there, recalled=call.was_recalled, arriving=call.was_arriving, wait=wait, error=error
    )


def _failed(call: Call, error: str, wait: float) -> Ended:
    return Ended(
        call, there=call.was_there, recalled=call.was_recalled, arriving=call.was_arriving, wait=_in_time(call, wait),
        error=error, failed=True,
    )  # fmt: skip


def _in_time(call: Call, wait: float) -> float:
    """What ntfy may have, and shouldn't as it is, is taken back shortly before its slot at the latest."""
    left = (call.place[1] - call.now).total_seconds()
    near = NEAREST.total_seconds()
    return min(wait, LAST_TRY if left <= near else left - near + LAST_TRY)
