"""Makes the service and the engine from the settings and an open database."""

from datetime import timedelta
from importlib.metadata import version
from typing import cast

import orjson

from cronty.actions.tasks import Registry
from cronty.app.keys import with_the_key
from cronty.app.outside import Outside
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.handing import Ahead
from cronty.jobs.limits import DEFAULTS, BadLimits, Limits, read_limits
from cronty.jobs.performers import Performs
from cronty.jobs.task_settings import read_queues
from cronty.scheduler import Scheduler, Service
from cronty.scheduler.backfills import Backfills
from cronty.scheduler.calendars import Calendars
from cronty.scheduler.channels import Channels
from cronty.scheduler.identity import Identity, Provider
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.overview import Overview
from cronty.scheduler.presses import Presses
from cronty.scheduler.runs import Runs
from cronty.settings import BadSetting, Settings
from cronty.store.audit_store import AuditStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.overview_store import OverviewStore
from cronty.store.owner_store import OwnerStore
from cronty.store.press_store import PressStore
from cronty.store.run_store import RunStore
from cronty.store.sealing import Sealer
from cronty.store.signing import Signer


def make_service(settings: Settings, database: Database, jobs: JobStore, outside: Outside) -> Service:
    scheduler = Scheduler(jobs, settings.zone, limits_of(settings), settings.run)
    secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else None
    signer = with_the_key(settings, Signer.read)
    if settings.heads_dir is not None and signer is None:
        raise BadSetting("CRONTY_HEADS_DIR needs CRONTY_SECRET_KEY, which signs the heads; `cronty key` makes one.")
    keys, provider = KeyStore(database), None
    if settings.oidc_issuer and settings.oidc_jwks_url:
        provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, outside.fetch)
    listeners = Listeners(keys.ended)
    return Service(
        scheduler=scheduler,
        inbox=Inbox(InboxStore(database), scheduler.allowance, listeners),
        runs=Runs(RunStore(database), scheduler),
        channels=Channels(
            ChannelStore(database, with_the_key(settings, Sealer.read)),
            outside.courier,
            outside.notify,
            ahead=gives_ahead(settings),
        ),
        identity=Identity(keys, settings.public_url, secret, provider),
        trail=AuditStore(database, signer, settings.heads_dir),
        overview=Overview(OverviewStore(database), scheduler, outside.own),
        notify=outside.notify,
        calendars=Calendars(jobs.calendars, scheduler),
        listeners=listeners,
        backfills=Backfills(jobs, scheduler.allowance, timedelta(days=settings.keep_days)),
        presses=Presses(PressStore(database, jobs.new_jobs), scheduler, OwnerStore(database).name_of, outside.keys),
    )


def make_engine(
    settings: Settings,
    database: Database,
    registry: Registry,
    outside: Outside,
    *,
    performs: Performs,
    die_when_stuck: bool,
) -> Engine:
    options = EngineOptions(
        concurrency=settings.concurrency,
        lease=settings.lease,
        drain=settings.drain,
        keep_days=settings.keep_days,
        version=version("cronty"),
        die_when_stuck=die_when_stuck,
        limits=limits_of(settings),
        zone=settings.zone,
        queues=queues_of(settings),
        performs=performs,
    )
    ahead = Ahead(outside.notify, with_the_key(settings, Sealer.read)) if gives_ahead(settings) else None
    return Engine(database, registry, options, ahead)


def gives_ahead(settings: Settings) -> bool:
    """Whether ntfy gets reminders ahead of their time: on a machine of one's own, which may be shut."""
    return settings.database_url is None if settings.ahead is None else settings.ahead


def queues_of(settings: Settings) -> tuple[str, ...]:
    """The queues that workers of this process choose; none for all."""
    try:
        return read_queues([name.strip() for name in settings.queues.split(",")] if settings.queues.strip() else [])
    except ValueError as bad:
        raise BadSetting(f"CRONTY_QUEUES or --queue is {settings.queues!r}: {bad}") from None


def limits_of(settings: Settings) -> Limits:
    """The installation's own limits."""
    try:
        given: object = orjson.loads(settings.limits or "{}")
        if not isinstance(given, dict):
            raise BadLimits('It must be an object, such as {"jobs": 1000}.')
        return read_limits(DEFAULTS, cast("dict[str, object]", given))
    except (orjson.JSONDecodeError, BadLimits) as bad:
        raise BadSetting(f"CRONTY_LIMITS is {settings.limits[:80]!r}: {bad}") from None
