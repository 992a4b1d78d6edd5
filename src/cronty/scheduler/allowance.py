"""How much an owner may have: asked before a job is made or changed, and told to the owner when it is too much."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cronty import telemetry
from cronty.jobs.action import Action
from cronty.jobs.limits import (
    BadLimits,
    Limits,
    OverLimit,
    day_of,
    hour_of,
    over_pushes,
    over_wakes,
    read_limits,
    too_deep,
    too_large,
    too_many,
    too_often,
    wakes_of,
)
from cronty.jobs.result import Err, Ok, Result
from cronty.jobs.run import read_message_id, run_id
from cronty.store.alerts import Held
from cronty.store.limit_store import UNCOUNTED, LimitStore, Standing
from cronty.timing import Trigger

ERASING: Final = Err("owner_erased", "This owner is being erased.", "Ask whoever runs this installation.")


class Allowance:
    """A fence, not a bank: calls made at the very same moment may go a little over a limit."""

    def __init__(self, store: LimitStore, defaults: Limits, made_by: str | None = None) -> None:
        self._store = store
        self._defaults = defaults
        self._made_by = made_by

    def of(self, standing: Standing) -> Limits:
        """What holds for an owner."""
        return read_limits(self._defaults, standing.limits)

    async def standing(
        self,
        owner: str,
        origin: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        tasks: Sequence[str] = (),
    ) -> Standing:
        """How an owner stands when somebody asks for a job: what there is, and which run asks, if one does.

        It is the run `origin` names, or the one this process was started by. An agent that has
        read a prompt without settling it yet asks on its behalf.
        """
        said = origin or {}
        found = read_message_id(str(said.get("asked_in") or self._made_by or ""))
        agent = said.get("agent")
        return await self._store.standing(
            owner,
            found,
            leased=_is_agents(said),
            agent=agent if isinstance(agent, str) else None,
            key=key,
            tasks=tasks,
        )

    async def for_new(
        self, owner: str, standing: Standing, action: Action, trigger: Trigger, origin: Mapping[str, object] | None
    ) -> Err | None:
        """Why a job may not be made."""
        if standing.erasing:
            return ERASING
        limits = self.of(standing)
        by_agent = standing.parent is not None or _is_agents(origin or {})
        wrong = too_often(limits, action, trigger, by_agent=by_agent)
        if wrong is None and standing.parent is not None:
            wrong = too_deep(limits, standing.depth + 1)
        return await self._tell(owner, standing, wrong or await self._full(owner, standing, action, one_more=True))

    async def for_return(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why a job that was deleted may not come back."""
        if standing.erasing:
            return ERASING
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=True))

    async def recount(self, owner: str) -> None:
        """A job that came back may be older than the last count, and isn't in it."""
        await self._store.recount(owner)

    async def for_arguments(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why a job may not get these arguments."""
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=False))

    async def for_wake(self, owner: str, action: Action) -> Err | None:
        """Why an agent may not be woken once more; counted, if it may."""
        standing = await self._store.standing(owner)
        used = await self._store.count_use(owner, wakes_of(action.agent), hour_of(standing.now))
        return await self._tell(owner, standing, over_wakes(self.of(standing), action.agent or "", used))

    async def for_push(self, owner: str) -> Err | None:
        """Why no notification may be sent at once any more today; counted, if one may."""
        standing = await self._store.standing(owner)
        if standing.erasing:
            return ERASING
        if standing.owner_id is None:
            await self._store.save(owner, None)  # so that there is somebody to count for
        used = await self._store.count_use(owner, "pushes", day_of(standing.now))
        return await self._tell(owner, standing, over_pushes(self.of(standing), used))

    async def _full(self, owner: str, standing: Standing, action: Action, *, one_more: bool) -> OverLimit | None:
        limits = self.of(standing)
        size = len(action.arguments_json())

        def flaw(now: Standing) -> OverLimit | None:
            return (too_many(limits, now.jobs) if one_more else None) or too_large(limits, now.bytes, size)

        if flaw(standing) is None and standing.uncounted < UNCOUNTED:
            return None
        jobs, stored = await self._store.recount(owner)
        return flaw(replace(standing, jobs=jobs, bytes=stored))

    async def _tell(self, owner: str, standing: Standing, refused: OverLimit | None) -> Err | None:
        """Pass a refusal on; the first by each limit in an hour is told to the owner as well."""
        if refused is None or standing.owner_id is None:
            return refused
        held = Held(standing.owner_id, standing.parent_job or 0, f"Refused: {refused.message}", self.of(standing).alert)
        if await self._store.count_refusal(owner, refused.limit, standing.now, hour_of(standing.now), held):
            telemetry.limit_reached(standing.owner_id, refused.message)
        return refused

    # -- looking and setting ------------------------------------------------------------------------------------

    async def show(self, owner: str) -> dict[str, dict[str, object]]:
        """The limits of an owner and what is used of them."""
        standing = await self._store.standing(owner)
        jobs, stored = await self._store.recount(owner)
        used = await self._store.usage(owner, hour_of(standing.now), day_of(standing.now))
        return {"limits": self.of(standing).as_json(), "used": {"jobs": jobs, "stored_bytes": stored, **used}}

    async def set(self, owner: str, given: Mapping[str, object]) -> Result[Limits]:
        """Give an owner limits of its own; an empty mapping takes them away."""
        try:
            limits = read_limits(self._defaults, given)
        except BadLimits as bad:
            return Err("bad_limits", str(bad))
        await self._store.save(owner, given)
        return Ok(limits)


def _is_agents(origin: Mapping[str, object]) -> bool:
    """Whether an agent asks: over MCP one always does, elsewhere by a token that was made for it."""
    return origin.get("surface") == "mcp" or origin.get("agent") is not None


def by_agent(origin: Mapping[str, object]) -> bool:
    """Whether an agent made a job that has this origin."""
    return _is_agents(origin) or origin.get("run_id") is not None


def lineage(standing: Standing, origin: Mapping[str, object] | None) -> dict[str, object] | None:
    """The origin to keep with a job: what the surface knows, and the run that made it."""
    kept = None if origin is None else {key: value for key, value in origin.items() if key != "asked_in"}
    if standing.parent is None:
        return kept
    return {**(kept or {}), "run_id": run_id(*standing.parent), "depth": standing.depth + 1}
