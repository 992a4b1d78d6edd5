"""The operations on an owner's inbox, notifications, channels, keys, limits and audit trail."""

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Final

from cronty.actions.notify import Notify, check_notification
from cronty.actions.tasks import PermanentError, RetryAfter
from cronty.contract.answers_of_owner import (
    AcknowledgedItems,
    CalendarList,
    CalendarOfDaysOff,
    Channel,
    ChannelList,
    InboxItems,
    KeyList,
    LimitsAndUse,
    Me,
    NewKey,
    OwnerZone,
    SentNotification,
    Trail,
)
from cronty.contract.caller import Caller
from cronty.contract.operation import Handler
from cronty.contract.operations import Operations
from cronty.contract.requests import (
    AcknowledgeInbox,
    AddKey,
    ListCalendars,
    ListChannels,
    ListKeys,
    ReadInbox,
    ReadTrail,
    RemoveCalendar,
    RemoveChannel,
    RevokeKey,
    SaveCalendar,
    SaveChannel,
    SendPushNotification,
    SetZone,
    ShowLimits,
    TryChannel,
    WhoAmI,
)
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler import answers
from cronty.scheduler.calendars import Calendars
from cronty.scheduler.channels import Channels
from cronty.scheduler.decisions import USE_CURSOR
from cronty.scheduler.identity import Identity
from cronty.scheduler.inbox import Inbox, outcome_of
from cronty.scheduler.scheduler import Scheduler
from cronty.store.audit_store import AuditStore
from cronty.timing import BadTrigger, zone
from cronty.timing.rule import read_instant

KEPT_ZONES: Final = "Jobs that are there already keep their own time zones."


class OwnerCalls:
    def __init__(
        self,
        scheduler: Scheduler,
        inbox: Inbox,
        channels: Channels,
        identity: Identity,
        trail: AuditStore,
        notify: Notify,
        calendars: Calendars,
    ) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._channels = channels
        self._identity = identity
        self._trail = trail
        self._notify = notify
        self._calendars = calendars

    def handlers(self) -> Iterator[Handler]:
        yield Operations.read_inbox.by(self.read_inbox)
        yield Operations.acknowledge_inbox.by(self.acknowledge)
        yield Operations.send_push_notification.by(self.push)
        yield Operations.list_channels.by(self.list_channels)
        yield Operations.save_channel.by(self.save_channel)
        yield Operations.remove_channel.by(self.remove_channel)
        yield Operations.try_channel.by(self.try_channel)
        yield Operations.list_calendars.by(self.list_calendars)
        yield Operations.save_calendar.by(self.save_calendar)
        yield Operations.remove_calendar.by(self.remove_calendar)
        yield Operations.who_am_i.by(self.who_am_i)
        yield Operations.set_zone.by(self.set_zone)
        yield Operations.show_limits.by(self.show_limits)
        yield Operations.list_keys.by(self.list_keys)
        yield Operations.add_key.by(self.add_key)
        yield Operations.revoke_key.by(self.revoke_key)
        yield Operations.read_trail.by(self.read_trail)

    # -- messages -----------------------------------------------------------------------------------------------

    async def read_inbox(self, caller: Caller, request: ReadInbox) -> Result[InboxItems]:
        wait = timedelta(seconds=request.wait_seconds)
        found = await self._inbox.read(caller, request.agent, request.limit, wait)
        if isinstance(found, Err):
            return found
        items = [answers.inbox_item(one) for one in found.value]
        note = None if items or request.agent or caller.agent else await self._for_named(caller)
        return Ok(InboxItems(items=items, count=len(items), note=note))

    async def _for_named(self, caller: Caller) -> str | None:
        """What to say to a reader without a name if prompts wait for agents by name."""
        waiting = await self._inbox.peek(caller)
        if isinstance(waiting, Err):
            return None
        names = sorted({one.agent for one in waiting.value if one.agent and one.deadline <= one.facts.now})
        return f"Prompts wait for {', '.join(names)}: give your name as agent to read yours." if names else None

    async def acknowledge(self, caller: Caller, request: AcknowledgeInbox) -> Result[AcknowledgedItems]:
        clock = await self._scheduler.clock(caller)
        outcome = outcome_of(request.outcome, request.report, request.snooze_for, clock)
        if isinstance(outcome, Err):
            return outcome
        settled = await self._inbox.settle(caller, request.receipts, outcome)
        if isinstance(settled, Err):
            return settled
        refused = [receipt for receipt, accepted in settled.value.items() if not accepted]
        why = "Those are settled already, were handed out again, or don't exist; read_inbox shows what is open."
        return Ok(
            AcknowledgedItems(
                acknowledged=[receipt for receipt, accepted in settled.value.items() if accepted],
                refused=refused,
                hint=why if refused else None,
            )
        )

    async def push(self, caller: Caller, request: SendPushNotification) -> Result[SentNotification]:
        given = {one.name: getattr(request, one.name) for one in fields(request)}
        given = {name: value for name, value in given.items() if value is not None}
        if flaw := check_notification(**given):
            return Err("not_sent", f"Not sent: {flaw.message}", field=flaw.field)
        note = await self._channels.about(caller, [request.topic])
        if isinstance(note, Err):
            return note
        if refused := await self._scheduler.allowance.for_push(caller):
            return refused
        try:
            sent = await self._notify.push(await self._channels.url(caller, request.topic), caller.owner, **given)
        except PermanentError as failed:
            return Err("not_sent", f"Not sent: {failed}")
        except RetryAfter as failed:
            return Err("not_sent", f"Not sent: {failed}", "Try again in a minute, or schedule it to have it retried.")
        return Ok(SentNotification(topic=request.topic, id=str(sent.get("id", "")), note=note.value))

    async def list_channels(self, caller: Caller, _request: ListChannels) -> Result[ChannelList]:
        found = await self._channels.list(caller)
        if isinstance(found, Err):
            return found
        return Ok(ChannelList(channels=[answers.channel_of(one) for one in found.value]))

    async def save_channel(self, caller: Caller, request: SaveChannel) -> Result[Channel]:
        saved = await self._channels.add(caller, request.name, request.url, ahead=request.ahead)
        return saved if isinstance(saved, Err) else Ok(answers.channel_of(saved.value))

    async def remove_channel(self, caller: Caller, request: RemoveChannel) -> Result[None]:
        return await self._channels.remove(caller, request.name)

    async def list_calendars(self, caller: Caller, _request: ListCalendars) -> Result[CalendarList]:
        found = await self._calendars.list(caller)
        if isinstance(found, Err):
            return found
        return Ok(CalendarList(calendars=[answers.calendar_of(one) for one in found.value]))

    async def save_calendar(self, caller: Caller, request: SaveCalendar) -> Result[CalendarOfDaysOff]:
        given = {"days": request.days, "windows": request.windows, "make_up_days": request.make_up_days}
        days = {name: value for name, value in given.items() if value is not None}
        saved = await self._calendars.save(caller, request.name, days, request.ics)
        return saved if isinstance(saved, Err) else Ok(answers.calendar_of(*saved.value))

    async def remove_calendar(self, caller: Caller, request: RemoveCalendar) -> Result[None]:
        return await self._calendars.remove(caller, request.name)

    async def try_channel(self, caller: Caller, request: TryChannel) -> Result[SentNotification]:
        if refused := await self._scheduler.allowance.for_push(caller):
            return refused
        sent = await self._channels.test(caller, request.name)
        if isinstance(sent, Err):
            return sent
        return Ok(SentNotification(topic=request.name, id=str(sent.value.get("id", ""))))

    # -- the owner ----------------------------------------------------------------------------------------------

    async def who_am_i(self, caller: Caller, _request: WhoAmI) -> Result[Me]:
        scopes = sorted(caller.scopes)
        return Ok(Me(owner=caller.owner, scopes=[*scopes], agent=caller.agent, key_id=caller.key_number))

    async def set_zone(self, caller: Caller, request: SetZone) -> Result[OwnerZone]:
        before = await self._scheduler.set_zone(caller, request.timezone)
        if isinstance(before, Err):
            return before
        now, zone_name = await self._scheduler.clock(caller)
        local = now.astimezone(zone(zone_name)).replace(microsecond=0)
        return Ok(OwnerZone(timezone=zone_name, before=before.value, now=local, note=KEPT_ZONES))

    async def show_limits(self, caller: Caller, _request: ShowLimits) -> Result[LimitsAndUse]:
        return Ok(LimitsAndUse(**await self._scheduler.allowance.show(caller.owner)))  # pyright: ignore[reportArgumentType]

    async def list_keys(self, caller: Caller, _request: ListKeys) -> Result[KeyList]:
        return Ok(KeyList(keys=[answers.key_of(key) for key in await self._identity.keys(caller)]))

    async def add_key(self, caller: Caller, request: AddKey) -> Result[NewKey]:
        ends = await self._end(caller, request.expires_at)
        if isinstance(ends, Err):
            return ends
        made = await self._identity.add_key(caller, request.name, request.scopes, agent=request.agent, expires_at=ends)
        return made if isinstance(made, Err) else Ok(NewKey(id=made.value.number, key=made.value.text))

    async def _end(self, caller: Caller, given: str | datetime | None) -> datetime | Err | None:
        if given is None:
            return None
        now, zone_name = await self._scheduler.clock(caller)
        try:
            ends = read_instant(given, zone_name, now)
        except BadTrigger as bad:
            return Err("bad_time", f"Invalid expires_at: {bad.message}", bad.hint, "expires_at")
        if ends <= now:
            past = f'Invalid expires_at: "{str(given)[:80]}" is past.'
            return Err("bad_time", past, "Give a later time, or none.", "expires_at")
        return ends

    async def revoke_key(self, caller: Caller, request: RevokeKey) -> Result[None]:
        return await self._identity.revoke(caller, request.key_id)

    async def read_trail(self, caller: Caller, request: ReadTrail) -> Result[Trail]:
        if request.before is not None and not 1 <= request.before < 2**63:
            return Err("bad_cursor", f"Invalid before: {request.before}", USE_CURSOR, "before")
        page = await self._trail.read(caller.owner, request.limit, request.before)
        entries = [answers.trail_entry(entry) for entry in page.entries]
        cursor = entries[-1].number if len(entries) == request.limit else None
        return Ok(Trail(entries=entries, cursor=cursor, archived_through=page.archived_through))
