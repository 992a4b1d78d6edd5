"""Gives ntfy notifications ahead of their time, and takes back what isn't to ring any more.

What ntfy is to be given is planned from the jobs, and written down before it is: whoever is killed in between leaves
something that can be repeated, because each notification has the id of its run at ntfy. Each call is claimed for a
minute, and a server that doesn't answer holds up nobody but its owner: each has a share, and its turn. What couldn't be
given is sent at its time, as if nobody had tried. What couldn't be taken back is tried again until its time has come,
and then its owner is told.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.actions.notify import Notify
from cronty.actions.outbound import CallFailed
from cronty.actions.tasks import CurrentRun, PermanentError, RetryAfter
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST
from cronty.engine.sending import Sending
from cronty.jobs.ahead import NEAREST, slots_ahead
from cronty.jobs.alerts import Alert
from cronty.jobs.moments import local_text
from cronty.jobs.run import message_id
from cronty.store.ahead_store import AheadStore, Call, Ended
from cronty.store.sealing import Sealer

JOBS: Final = 200
CALLS: Final = 20
"""How many calls this process makes at once."""

SHARE: Final = 5
"""How many of one owner."""

PATIENCE: Final = 20.0
"""Seconds for one call; shorter than the lease."""

REST: Final = 5.0
LIGHT: Final = 20
"""Looking for changes takes at most one part in so many of the time."""

WALK_EVERY: Final = timedelta(hours=1)
"""Time until every job is planned again: the window has moved, and perhaps the days off."""

NEXT_MINUTE: Final = 60.0
AFTER_A_REFUSAL: Final = 3600.0
"""Seconds until what ntfy refused is offered again: its limits may be by the day."""

LAST_TRY: Final = 5.0
"""Seconds between the last tries, when a slot is near."""

_TOO_MANY: Final = "Too many calls in this minute."
_LOCKED: Final = "No key opens its channel any more."
_NOT_SENT: Final = frozenset({"dns", "refused", "tls", "unreachable", "http_429"})
"""Faults after which the other side certainly hasn't got what it was to be given."""


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
        self._took = 0.0
        self._look_at = 0.0
        self._rest = MAX_REST
        """Seconds until the next claim at the latest; nothing is claimed where nobody uses it."""
        self._walk_at = datetime.min.replace(tzinfo=UTC)
        self._walking = False
        self._served: set[int] = set()
        """Owners that had their turn, until all have."""

    async def step(self) -> float:
        """Look for changes if it is time, and make some calls; seconds until the next step, 0 if there may be more."""
        await self._sending.settle()
        if monotonic() >= self._look_at:
            await self._look()
        await self._claim()
        if not self._sending.is_empty:
            await self._sending.wait()
            return 0
        if self._served:
            self._served.clear()
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
        """Plan a page of the jobs that are to be given; after the last, take back what isn't to ring any more."""
        began = monotonic()
        if not self._after:
            now = await self._store.now_if_used()
            self._rest = MAX_REST if now is None else REST
            if now is None:
                self._look_at = began + MAX_REST
                return
            self._took = 0.0
            self._walking = now >= self._walk_at
        usual_limit = self._limiting.usual_runs_per_hour
        jobs = await self._store.jobs(self._after, JOBS, usual_limit, every=self._walking)
        if jobs:
            await self._store.plan([(one, slots_ahead(one.job, one.now)) for one in jobs])
            if self._walking:
                self._walk_at = jobs[-1].now + WALK_EVERY
        self._after = jobs[-1].job.id if len(jobs) == JOBS else 0
        if not self._after:
            await self._store.take_back(usual_limit)
        self._took += monotonic() - began
        self._look_at = monotonic() + (0 if self._after else max(REST, LIGHT * self._took))

    # -- calling ------------------------------------------------------------------------------------------------

    async def _claim(self) -> None:
        """Start calls of owners whose turn it is."""
        free = self._sending.free
        calls = await self._store.claim(free, SHARE, [*self._served, *self._sending.busy()]) if free else []
        self._served.update(call.owner_id for call in calls)
        over = await self._over(calls)
        for call in reversed(calls):  # what is over the limit are the last ones of each owner
            held = call.state == "giving" and over[call.owner_id] > 0
            over[call.owner_id] -= held
            self._sending.start(call.owner_id, self._end(call, held=held))

    async def _over(self, calls: Sequence[Call]) -> Counter[int]:
        """How many calls of each owner must wait for the next minute. Those that must not ring never do."""
        given = Counter(call.owner_id for call in calls if call.state == "giving")
        return Counter(await self._limiting.calls_over_half(given, calls[0].now)) if given else Counter[int]()

    async def _end(self, call: Call, *, held: bool) -> Ended:
        taking = call.state == "taking"
        if call.place[1] <= call.now:  # its run has sent it, or it may have rung
            return Ended(call, gone=True, alert=self._alert(call) if taking and call.was_there else None)
        late = call.place[1] - call.now <= NEAREST
        if not call.was_there and (taking or late):
            return Ended(call, gone=True)
        if not taking and not late and call.kwargs is None:
            return Ended(call, there=call.was_there, wait=REST)  # it has changed; a plan follows
        if held:
            return Ended(call, there=call.was_there, wait=NEXT_MINUTE, error=_TOO_MANY)
        url = self._store.url(call.owner_id, call.target)
        if url is None:
            return _failed(call, _LOCKED, AFTER_A_REFUSAL, there=call.was_there)
        return await self._called(call, url, take_back=taking or late)

    async def _called(self, call: Call, url: str, *, take_back: bool) -> Ended:
        usual = min(30.0 * 2 ** min(call.failures, 5), 600.0)
        try:
            async with asyncio.timeout(PATIENCE):
                await self._exchange(call, url, take_back=take_back)
        except RetryAfter as error:
            there = call.was_there or not (isinstance(error, CallFailed) and error.category in _NOT_SENT)
            return _failed(call, str(error), max(usual, error.wait.total_seconds()), there=there)
        except PermanentError as error:
            return _failed(call, str(error), usual if take_back else AFTER_A_REFUSAL, there=call.was_there)
        except TimeoutError:
            return _failed(call, f"Timeout: it took longer than {PATIENCE:g} s", usual, there=True)
        return Ended(call, gone=take_back, held=not take_back, there=not take_back)

    async def _exchange(self, call: Call, url: str, *, take_back: bool) -> None:
        job_id, slot = call.place
        if take_back:
            await self._notify.take_back(url, message_id(job_id, slot), call.owner)
            return
        run = CurrentRun(call.owner_id, job_id, call.job_number, slot, 1)
        await self._notify.hand_over(url, run, call.owner, call.kwargs or {})

    def _alert(self, call: Call) -> Alert | None:
        """None if its owner is gone, or if its run was sent instead."""
        if call.name is None or call.zone is None or call.replaced:
            return None
        why = call.error or "nobody answered."
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


def _failed(call: Call, error: str, wait: float, *, there: bool) -> Ended:
    """What ntfy may have, and shouldn't as it is, is taken back shortly before its slot at the latest."""
    left = (call.place[1] - call.now).total_seconds()
    if there:
        near = NEAREST.total_seconds()
        wait = min(wait, LAST_TRY if left <= near else left - near + LAST_TRY)
    return Ended(call, there=there, wait=wait, error=error, failed=True)
