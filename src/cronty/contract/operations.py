"""The table of operations, in this order on every surface. Each Python API inherits it."""

from typing import Any, Final

from cronty.contract.answers import (
    Backfill,
    CurrentTime,
    DeletedJobs,
    FailedRuns,
    JobDetail,
    JobList,
    RedrivenRuns,
    RunDetail,
    RunList,
    ScheduledJob,
    SchedulePreview,
    StartedRun,
    TaskList,
)
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
    OwnerList,
    OwnerZone,
    SentNotification,
    Trail,
)
from cronty.contract.operation import READS, REPEATABLE, Operation, ToolHints, operations_of
from cronty.contract.requests import (
    AcknowledgeInbox,
    AddKey,
    BackfillJob,
    CancelJob,
    ChangeSlot,
    DeleteJob,
    EditJob,
    GetCurrentTime,
    ListCalendars,
    ListChannels,
    ListDeletedJobs,
    ListFailedRuns,
    ListJobs,
    ListKeys,
    ListOwners,
    ListRuns,
    ListTasks,
    PauseJob,
    PreviewSchedule,
    ReadInbox,
    ReadTrail,
    RedriveRuns,
    RemoveCalendar,
    RemoveChannel,
    ResumeJob,
    RevokeKey,
    RunJobNow,
    SaveCalendar,
    SaveChannel,
    ScheduleJob,
    SendPushNotification,
    SetZone,
    ShowJob,
    ShowLimits,
    ShowRun,
    StopRun,
    TryChannel,
    UndeleteJob,
    WhoAmI,
)

type AnyOperation = Operation[..., Any, Any]

_ENDS: Final = ToolHints(destructive=True, idempotent=True)
_OUTWARD: Final = ToolHints(open_world=True)


class Operations:
    schedule_job = Operation(
        ScheduleJob, ScheduledJob, "POST", "/jobs", title="Schedule a job", group="jobs", scope="schedule", status=201,
        refusals=("over_limit", "key_taken"), retry=True,
    )  # fmt: skip
    list_jobs = Operation(ListJobs, JobList, "GET", "/jobs", title="List jobs", group="jobs", scope="read", hints=READS)
    list_deleted_jobs = Operation(
        ListDeletedJobs, DeletedJobs, "GET", "/jobs/deleted", title="List deleted jobs", group="jobs", scope="read",
        hints=READS, tool=False,
    )  # fmt: skip
    job_status = Operation(
        ShowJob, JobDetail, "GET", "/jobs/{job_id}", title="Look at a job", group="jobs", scope="read", hints=READS
    )
    edit_job = Operation(
        EditJob, ScheduledJob, "PATCH", "/jobs/{job_id}", title="Change a job", group="jobs", scope="schedule",
        hints=_ENDS, refusals=("not_editable", "version_conflict", "over_limit"),
    )  # fmt: skip
    pause_job = Operation(
        PauseJob, JobDetail, "POST", "/jobs/{job_id}/pause", title="Pause a job", group="jobs", scope="schedule",
        hints=REPEATABLE, refusals=("not_editable",), tool=False, retry=True,
    )  # fmt: skip
    resume_job = Operation(
        ResumeJob, JobDetail, "POST", "/jobs/{job_id}/resume", title="Resume a job", group="jobs", scope="schedule",
        hints=REPEATABLE, refusals=("not_editable",), tool=False, retry=True,
    )  # fmt: skip
    cancel_job = Operation(
        CancelJob, JobDetail, "POST", "/jobs/{job_id}/cancel", title="Cancel a job", group="jobs", scope="schedule",
        hints=_ENDS, tool=False, retry=True,
    )  # fmt: skip
    delete_job = Operation(
        DeleteJob, type(None), "DELETE", "/jobs/{job_id}", title="Delete a job", group="jobs", scope="schedule",
        hints=_ENDS, status=204, tool=False,
    )  # fmt: skip
    undelete_job = Operation(
        UndeleteJob, JobDetail, "POST", "/jobs/{job_id}/undelete", title="Undelete a job", group="jobs",
        scope="schedule", hints=REPEATABLE, refusals=("key_taken", "over_limit"), tool=False, retry=True,
    )  # fmt: skip
    change_slot = Operation(
        ChangeSlot, ScheduledJob, "POST", "/jobs/{job_id}/slot", title="Skip or move one run", group="jobs",
        scope="schedule", hints=ToolHints(destructive=True), refusals=("not_editable",),
    )  # fmt: skip
    run_job_now = Operation(
        RunJobNow, StartedRun, "POST", "/jobs/{job_id}/run", title="Run a job now", group="jobs", scope="run",
        hints=_OUTWARD, status=202, refusals=("already_running", "over_limit"),
    )  # fmt: skip
    backfill_job = Operation(
        BackfillJob, Backfill, "POST", "/jobs/{job_id}/backfill", title="Run what was missed", group="jobs",
        scope="run", hints=ToolHints(idempotent=True, open_world=True), refusals=("not_editable", "over_limit"),
        tool=False, retry=True,
    )  # fmt: skip
    list_runs = Operation(
        ListRuns, RunList, "GET", "/jobs/{job_id}/runs", title="Why did it run, or not", group="runs", scope="read",
        hints=READS, tool=False,
    )  # fmt: skip
    list_failed_runs = Operation(
        ListFailedRuns, FailedRuns, "GET", "/runs/failed", title="List failed runs", group="runs", scope="read",
        hints=READS, tool=False,
    )  # fmt: skip
    show_run = Operation(
        ShowRun, RunDetail, "GET", "/runs/{run_id}", title="Look at a run", group="runs", scope="read", hints=READS,
        tool=False,
    )  # fmt: skip
    stop_run = Operation(
        StopRun, RunDetail, "POST", "/runs/{run_id}/stop", title="Stop a run", group="runs", scope="schedule",
        hints=_ENDS, refusals=("not_editable",), tool=False,
    )  # fmt: skip
    redrive_runs = Operation(
        RedriveRuns, RedrivenRuns, "POST", "/runs/redrive", title="Try failed runs again", group="runs", scope="run",
        hints=_OUTWARD, refusals=("over_limit",),
    )  # fmt: skip
    preview_schedule = Operation(
        PreviewSchedule, SchedulePreview, "POST", "/preview", title="Preview a schedule", group="time", scope="read",
        hints=READS,
    )  # fmt: skip
    get_current_time = Operation(
        GetCurrentTime, CurrentTime, "GET", "/clock", title="What time is it", group="time", scope="read", hints=READS
    )
    set_zone = Operation(
        SetZone, OwnerZone, "PUT", "/zone", title="Set my time zone", group="time", scope="schedule", hints=REPEATABLE,
        retry=True,
    )  # fmt: skip
    list_tasks = Operation(
        ListTasks, TaskList, "GET", "/tasks", title="What can be scheduled", group="jobs", scope="read", hints=READS
    )
    read_inbox = Operation(
        ReadInbox, InboxItems, "POST", "/inbox/read", title="Read the inbox", group="inbox", scope="prompts",
        refusals=("too_many_listeners",),
    )  # fmt: skip
    acknowledge_inbox = Operation(
        AcknowledgeInbox, AcknowledgedItems, "POST", "/inbox/acknowledge", title="Settle inbox items", group="inbox",
        scope="prompts", hints=REPEATABLE,
    )  # fmt: skip
    send_push_notification = Operation(
        SendPushNotification, SentNotification, "POST", "/notifications", title="Notify now", group="messages",
        scope="run", hints=_OUTWARD, refusals=("over_limit",), tool=False,
    )  # fmt: skip
    list_channels = Operation(
        ListChannels, ChannelList, "GET", "/channels", title="List channels", group="messages", scope="read",
        hints=READS,
    )  # fmt: skip
    save_channel = Operation(
        SaveChannel, Channel, "PUT", "/channels/{name}", title="Save a channel", group="messages", scope="admin",
        hints=REPEATABLE, refusals=("too_many_channels", "no_key"), tool=False, retry=True,
    )  # fmt: skip
    remove_channel = Operation(
        RemoveChannel, type(None), "DELETE", "/channels/{name}", title="Remove a channel", group="messages",
        scope="admin", hints=_ENDS, status=204, tool=False,
    )  # fmt: skip
    try_channel = Operation(
        TryChannel, SentNotification, "POST", "/channels/{name}/test", title="Try a channel", group="messages",
        scope="admin", hints=_OUTWARD, refusals=("over_limit",), tool=False,
    )  # fmt: skip
    list_calendars = Operation(
        ListCalendars, CalendarList, "GET", "/calendars", title="List calendars", group="owner", scope="read",
        hints=READS, tool=False,
    )  # fmt: skip
    save_calendar = Operation(
        SaveCalendar, CalendarOfDaysOff, "PUT", "/calendars/{name}", title="Save a calendar", group="owner",
        scope="schedule", hints=REPEATABLE, refusals=("too_many_calendars", "over_limit"), tool=False, retry=True,
    )  # fmt: skip
    remove_calendar = Operation(
        RemoveCalendar, type(None), "DELETE", "/calendars/{name}", title="Remove a calendar", group="owner",
        scope="schedule", hints=_ENDS, status=204, refusals=("calendar_in_use",), tool=False,
    )  # fmt: skip
    who_am_i = Operation(WhoAmI, Me, "GET", "/me", title="Who am I", group="owner", scope=None, hints=READS, tool=False)
    show_limits = Operation(
        ShowLimits, LimitsAndUse, "GET", "/limits", title="Show limits", group="owner", scope="read", hints=READS,
        tool=False,
    )  # fmt: skip
    list_owners = Operation(
        ListOwners, OwnerList, "GET", "/owners", title="List owners", group="owner", scope="admin", hints=READS,
        tool=False,
    )  # fmt: skip
    list_keys = Operation(
        ListKeys, KeyList, "GET", "/keys", title="List keys", group="owner", scope="admin", hints=READS, tool=False
    )
    add_key = Operation(
        AddKey, NewKey, "POST", "/keys", title="Add a key", group="owner", scope="admin", status=201,
        refusals=("too_many_keys",), tool=False,
    )  # fmt: skip
    revoke_key = Operation(
        RevokeKey, type(None), "DELETE", "/keys/{key_id}", title="Revoke a key", group="owner", scope="admin",
        hints=_ENDS, status=204, tool=False,
    )  # fmt: skip
    read_trail = Operation(
        ReadTrail, Trail, "GET", "/trail", title="Read the trail", group="owner", scope="admin", hints=READS,
        tool=False,
    )  # fmt: skip


ALL: Final[dict[str, AnyOperation]] = {operation.name: operation for operation in operations_of(Operations)}
